// Elementwise arithmetic, comparison, copies and fills.
#include "opapi/aclnn.h"

using namespace sim::aclnn;

// clang-format off
// two tensors
ACLNN(Add,              (In,self, In,other, Num,alpha, Out,out),  broadcast(out, {self, other}),  at::add_out(out, self, other, alpha))
ACLNN(Sub,              (In,self, In,other, Num,alpha, Out,out),  broadcast(out, {self, other}),  at::sub_out(out, self, other, alpha))
ACLNN(Mul,              (In,self, In,other, Out,out),             broadcast(out, {self, other}),  at::mul_out(out, self, other))
ACLNN(Div,              (In,self, In,other, Out,out),             broadcast(out, {self, other}),  at::div_out(out, self, other))
ACLNN(Maximum,          (In,self, In,other, Out,out),             broadcast(out, {self, other}),  at::maximum_out(out, self, other))
ACLNN(Minimum,          (In,self, In,other, Out,out),             broadcast(out, {self, other}),  at::minimum_out(out, self, other))
ACLNN(PowTensorTensor,  (In,self, In,other, Out,out),             broadcast(out, {self, other}),  at::pow_out(out, self, other))
ACLNN(EqTensor,         (In,self, In,other, Out,out),             broadcast(out, {self, other}),  at::eq_out(out, self, other))
ACLNN(NeTensor,         (In,self, In,other, Out,out),             broadcast(out, {self, other}),  at::ne_out(out, self, other))
ACLNN(GtTensor,         (In,self, In,other, Out,out),             broadcast(out, {self, other}),  at::gt_out(out, self, other))
ACLNN(GeTensor,         (In,self, In,other, Out,out),             broadcast(out, {self, other}),  at::ge_out(out, self, other))
ACLNN(LtTensor,         (In,self, In,other, Out,out),             broadcast(out, {self, other}),  at::lt_out(out, self, other))
ACLNN(LeTensor,         (In,self, In,other, Out,out),             broadcast(out, {self, other}),  at::le_out(out, self, other))
ACLNN(LogicalAnd,       (In,self, In,other, Out,out),             broadcast(out, {self, other}),  at::logical_and_out(out, self, other))
ACLNN(LogicalOr,        (In,self, In,other, Out,out),             broadcast(out, {self, other}),  at::logical_or_out(out, self, other))
ACLNN(SWhere,           (In,condition, In,self, In,other, Out,out), broadcast(out, {condition, self, other}), at::where_out(out, condition, self, other))

// tensor and scalar
ACLNN(Adds,             (In,self, Num,other, Num,alpha, Out,out), like(out, self),                write(out, at::add(self, other, alpha)))
ACLNN(Subs,             (In,self, Num,other, Num,alpha, Out,out), like(out, self),                write(out, at::sub(self, other, alpha)))
ACLNN(Muls,             (In,self, Num,other, Out,out),            like(out, self),                write(out, at::mul(self, other)))
ACLNN(Divs,             (In,self, Num,other, Out,out),            like(out, self),                write(out, at::div(self, other)))
ACLNN(PowTensorScalar,  (In,self, Num,exponent, Out,out),         like(out, self),                at::pow_out(out, self, exponent))
ACLNN(EqScalar,         (In,self, Num,other, Out,out),            like(out, self),                at::eq_out(out, self, other))
ACLNN(NeScalar,         (In,self, Num,other, Out,out),            like(out, self),                at::ne_out(out, self, other))
ACLNN(GtScalar,         (In,self, Num,other, Out,out),            like(out, self),                at::gt_out(out, self, other))
ACLNN(GeScalar,         (In,self, Num,other, Out,out),            like(out, self),                at::ge_out(out, self, other))
ACLNN(LtScalar,         (In,self, Num,other, Out,out),            like(out, self),                at::lt_out(out, self, other))
ACLNN(LeScalar,         (In,self, Num,other, Out,out),            like(out, self),                at::le_out(out, self, other))

// one tensor
ACLNN(Abs,              (In,self, Out,out),                       like(out, self),                at::abs_out(out, self))
ACLNN(Neg,              (In,self, Out,out),                       like(out, self),                at::neg_out(out, self))
ACLNN(Exp,              (In,self, Out,out),                       like(out, self),                at::exp_out(out, self))
ACLNN(Log,              (In,self, Out,out),                       like(out, self),                at::log_out(out, self))
ACLNN(Sqrt,             (In,self, Out,out),                       like(out, self),                at::sqrt_out(out, self))
ACLNN(Rsqrt,            (In,self, Out,out),                       like(out, self),                at::rsqrt_out(out, self))
ACLNN(Reciprocal,       (In,self, Out,out),                       like(out, self),                at::reciprocal_out(out, self))
ACLNN(Sin,              (In,self, Out,out),                       like(out, self),                at::sin_out(out, self))
ACLNN(Cos,              (In,self, Out,out),                       like(out, self),                at::cos_out(out, self))
ACLNN(Sign,             (In,self, Out,out),                       like(out, self),                at::sign_out(out, self))
ACLNN(LogicalNot,       (In,self, Out,out),                       like(out, self),                at::logical_not_out(out, self))
ACLNN(IsFinite,         (In,self, Out,out),                       like(out, self),                write(out, at::isfinite(self)))
ACLNN(Cast,             (In,self, Dtype,dtype, Out,out),          like(out, self),                out.copy_(self))

// in place
ACLNN(InplaceAdd,       (Ref,self, In,other, Num,alpha),          into(self, {other}),            self.add_(other, alpha))
ACLNN(InplaceAdds,      (Ref,self, Num,other, Num,alpha),         when_run(),                     self.add_(other, alpha))
ACLNN(InplaceSub,       (Ref,self, In,other, Num,alpha),          into(self, {other}),            self.sub_(other, alpha))
ACLNN(InplaceSubs,      (Ref,self, Num,other, Num,alpha),         when_run(),                     self.sub_(other, alpha))
ACLNN(InplaceMul,       (Ref,self, In,other),                     into(self, {other}),            self.mul_(other))
ACLNN(InplaceMuls,      (Ref,self, Num,other),                    when_run(),                     self.mul_(other))
ACLNN(InplaceDiv,       (Ref,self, In,other),                     into(self, {other}),            self.div_(other))
ACLNN(InplaceDivs,      (Ref,self, Num,other),                    when_run(),                     self.div_(other))
ACLNN(InplaceAddcdiv,   (Ref,self, In,a, In,b, Num,value),        into(self, {a, b}),             self.addcdiv_(a, b, value))
ACLNN(InplaceAddcmul,   (Ref,self, In,a, In,b, Num,value),        into(self, {a, b}),             self.addcmul_(a, b, value))
ACLNN(InplaceLerps,     (Ref,self, In,end, Num,weight),           into(self, {end}),              self.lerp_(end, weight))
ACLNN(InplaceFillScalar,(Ref,self, Num,value),                    when_run(),                     self.fill_(value))
ACLNN(InplaceFillTensor,(Ref,self, In,value),                     when_run(),                     self.fill_(value))
ACLNN(InplaceZero,      (Ref,self),                               when_run(),                     self.zero_())
ACLNN(InplaceOne,       (Ref,self),                               when_run(),                     self.fill_(1))
ACLNN(InplaceCopy,      (Ref,self, In,source),                    into(self, {source}),           self.copy_(source))
ACLNN(InplaceMaskedFillScalar, (Ref,self, In,mask, Num,value),    into(self, {mask}),             self.masked_fill_(mask, value))
// clang-format on
