// What ACLNN (opapi/aclnn.h) makes of a row. A row is judged before it is expanded: of one that is written wrongly
// nothing is compiled but a static_assert that names it. No type is named here: a test compiles wrong rows with this
// header alone.
#pragma once

// clang-format off
#define SIM_PARENS ()
#define SIM_COMMA() ,
#define SIM_NOTHING()
#define SIM_EXPAND(...) SIM_EXPAND3(SIM_EXPAND3(SIM_EXPAND3(SIM_EXPAND3(__VA_ARGS__))))
#define SIM_EXPAND3(...) SIM_EXPAND2(SIM_EXPAND2(SIM_EXPAND2(SIM_EXPAND2(__VA_ARGS__))))
#define SIM_EXPAND2(...) SIM_EXPAND1(SIM_EXPAND1(SIM_EXPAND1(SIM_EXPAND1(__VA_ARGS__))))
#define SIM_EXPAND1(...) __VA_ARGS__
// macro(kind, name) for each pair, with between() between; four at a time, since each time all that came is read again
#define SIM_PAIRS(macro, between, ...) SIM_EXPAND3(SIM_PAIR(macro, between, __VA_ARGS__))
#define SIM_PAIR(macro, between, kind, name, ...) \
  macro(kind, name) __VA_OPT__(between() SIM_PAIR_2(macro, between, __VA_ARGS__))
#define SIM_PAIR_2(macro, between, kind, name, ...) \
  macro(kind, name) __VA_OPT__(between() SIM_PAIR_3(macro, between, __VA_ARGS__))
#define SIM_PAIR_3(macro, between, kind, name, ...) \
  macro(kind, name) __VA_OPT__(between() SIM_PAIR_4(macro, between, __VA_ARGS__))
#define SIM_PAIR_4(macro, between, kind, name, ...) \
  macro(kind, name) __VA_OPT__(between() SIM_PAIR_AGAIN SIM_PARENS (macro, between, __VA_ARGS__))
#define SIM_PAIR_AGAIN() SIM_PAIR
#define SIM_PARAMETER(kind, name) kind name
#define SIM_GIVEN(kind, name) sim::aclnn::Given(std::in_place_type<kind>, name)
#define SIM_BIND(kind, name) [[maybe_unused]] auto& name = sim::aclnn::held<kind>(*sim_parameter++);
#define SIM_UNWRAP(...) __VA_ARGS__
// Fields of a struct that have the names of a row's parameters: nsa::Compression{NAMED(x, weight), .windows = …}.
#define NAMED(...) SIM_EXPAND(SIM_NAMED(__VA_ARGS__))
#define SIM_NAMED(name, ...) .name = name __VA_OPT__(, SIM_NAMED_AGAIN SIM_PARENS (__VA_ARGS__))
#define SIM_NAMED_AGAIN() SIM_NAMED
#define SIM_TEXT(...) SIM_TEXT_(__VA_ARGS__)
#define SIM_TEXT_(...) #__VA_ARGS__
#define SIM_JOIN(a, b) SIM_JOIN_(a, b)
#define SIM_JOIN_(a, b) a##b
#define SIM_FIRST(...) SIM_FIRST_(__VA_ARGS__, )
#define SIM_FIRST_(first, ...) first

// ---- what is wrong with the parameters: nothing, or words that say so ------------------------------------------------
#define SIM_FAULTS(...) SIM_EXPAND(SIM_FAULT(__VA_ARGS__))
#define SIM_FAULT(kind, ...) no_such_kind_##kind SIM_JOIN(SIM_FAULT_, __VA_OPT__(BEHIND))(__VA_ARGS__)
#define SIM_FAULT_() a_name_is_missing
#define SIM_FAULT_BEHIND(name, ...) __VA_OPT__(SIM_FAULT_AGAIN SIM_PARENS (__VA_ARGS__))
#define SIM_FAULT_AGAIN() SIM_FAULT
// The kinds of opapi/aclnn.h: what is left of each is nothing.
#define no_such_kind_In
#define no_such_kind_Out
#define no_such_kind_Ref
#define no_such_kind_Num
#define no_such_kind_MaybeNum
#define no_such_kind_Resized
#define no_such_kind_Ints
#define no_such_kind_Floats
#define no_such_kind_Bools
#define no_such_kind_List
#define no_such_kind_Nums
#define no_such_kind_Dtype
#define no_such_kind_Text
#define no_such_kind_Cube
#define no_such_kind_bool
#define no_such_kind_int
#define no_such_kind_int8_t
#define no_such_kind_int32_t
#define no_such_kind_int64_t
#define no_such_kind_uint64_t
#define no_such_kind_float
#define no_such_kind_double

// ---- the judgement: right, short (a check or what runs is missing), long (there is more) or faulty (its parameters) --
#define SIM_JUDGED(parameters, ...) SIM_JOIN(SIM_JUDGED_, SIM_FIRST(__VA_OPT__(SIM_RUNS(__VA_ARGS__),) short))(parameters)
#define SIM_RUNS(check, ...) SIM_FIRST(__VA_OPT__(SIM_RUNS_ONE(__VA_ARGS__),) short)
#define SIM_RUNS_ONE(run, ...) SIM_FIRST(__VA_OPT__(long,) right)
#define SIM_JUDGED_short(parameters) short
#define SIM_JUDGED_long(parameters) long
#define SIM_JUDGED_right(parameters) SIM_FAULTY(SIM_FAULTS parameters)
#define SIM_FAULTY(...) SIM_FIRST(__VA_OPT__(faulty,) right)

#define SIM_ROW_short(function, op, parameters, ...) \
  static_assert(false, #function ": a row has its parameters, a check and what runs; the last is missing");
#define SIM_ROW_long(function, op, parameters, ...) \
  static_assert(false, #function ": a row has one check, and one thing that runs; several go into parentheses: (a, b)");
#define SIM_ROW_faulty(function, op, parameters, ...) \
  static_assert(false, #function ": a row's parameters are kinds with names: " SIM_TEXT(SIM_FAULTS parameters));
#define SIM_ROW_right(function, op, parameters, check, ...) \
  static void op##_row(sim::aclnn::Held* sim_parameter, sim::aclnn::Phase sim_phase) { \
    SIM_PAIRS(SIM_BIND, SIM_NOTHING, SIM_UNWRAP parameters) \
    if (sim_phase == sim::aclnn::Phase::first) { check; return; } \
    __VA_ARGS__; \
  } \
  extern "C" { SIM_API constinit sim::aclnn::Row function##Row{#function, #parameters, op##_row}; } \
  extern "C" SIM_API int function##GetWorkspaceSize(SIM_PAIRS(SIM_PARAMETER, SIM_COMMA, SIM_UNWRAP parameters), \
                                                     uint64_t* workspace, aclOpExecutor** executor) { \
    return sim::aclnn::prepare(function##Row, {SIM_PAIRS(SIM_GIVEN, SIM_COMMA, SIM_UNWRAP parameters)}, workspace, executor); \
  } \
  SIM_SECOND_PHASE(function, parameters)
// And the text of its parameters, for tests of every function.
#define SIM_SECOND_PHASE(function, parameters) \
  extern "C" SIM_API const char* function##Parameters() { return #parameters; } \
  extern "C" SIM_API int function(void* workspace, uint64_t size, aclOpExecutor* executor, void* stream) { \
    return sim::aclnn::launch(#function, workspace, size, executor, stream); \
  }

#define ACLNN(op, parameters, ...) ACL_FUNCTION(aclnn##op, op, parameters, __VA_ARGS__)
// One whose name has another prefix.
#define ACL_FUNCTION(function, op, parameters, ...) \
  SIM_JOIN(SIM_ROW_, SIM_JUDGED(parameters, __VA_ARGS__))(function, op, parameters, __VA_ARGS__)
// What a captured call needs for whatever lengths its updates bring. It takes the same and answers the same, since a
// row's workspace does not depend on values.
#define MAX_WORKSPACE(function) \
  extern "C" SIM_API decltype(function##GetWorkspaceSize) function##GetMaxWorkspaceSize \
      [[gnu::alias(#function "GetWorkspaceSize")]];
// clang-format on
