/// How a call ended: the flags of a `Return` frame.
package enum ReturnStatus: UInt8, Sendable {
    /// The body is the result.
    case result = 0
    /// The method threw; the body is the error.
    case thrown = 1
    /// The method was not run, or its result could not be sent; the body is a code and a sentence.
    case refused = 2
}
