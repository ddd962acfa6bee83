/// An enum that may get more cases in later versions.
///
/// A case that this program does not know is decoded as ``unknown``:
///
/// ```swift
/// enum Colour: String, OpenEnum {
///     case red, green
///     case unknown
/// }
/// ```
///
/// The enum has raw values, or cases with values and a `Codable` that the compiler writes. Only an unknown case becomes `unknown`:
/// wrong values of a known case are an error. The rule holds in archives and messages. Other decoders, such as `JSONDecoder`, throw.
///
/// A program that passes an unknown case on writes `unknown`, and of several unknown elements of a set one is left. Two unknown
/// keys of a dictionary are an error.
///
/// Conform from the first version on: a case can be added only for programs that have been built with the conformance.
public protocol OpenEnum: Codable {
    /// What stands for the cases of later versions; an enum conforms with a case of this name.
    nonisolated static var unknown: Self { get }
}
