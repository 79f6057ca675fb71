// In the place of CANN's header of this name, which only the operators include that torchair generates.
#pragma once

#error "[simulated Ascend] operators that torchair generates where it has no GE converter are not simulated: \
register a converter for the operator, or keep it out of the graph"
