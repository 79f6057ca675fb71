// In the place of the headers of convolutions of three dimensions, of which nothing is here.
#error \
    "Conv3D, Conv3DBackpropInput and Conv3DBackpropFilter are not simulated: neither their classes in a kernel nor their tiling on the host"
