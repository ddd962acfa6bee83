/// A reference to an object that is used by an ``Interface``: a `Remote`.
///
/// Do not conform types of your own.
public protocol _InterfaceReference: Codable, Sendable {
    /// The interface.
    associatedtype I: Interface
}
