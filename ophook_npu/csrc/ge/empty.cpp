// libfmk_parser and libascend_protobuf: torchair's extension modules, and the operators that it
// compiles, name them as needed libraries and use no symbol of theirs. They exist here so that the loader finds them,
// and export nothing.
