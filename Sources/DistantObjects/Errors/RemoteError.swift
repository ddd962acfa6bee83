/// An error that a method threw in the other process and whose type is not known here.
///
/// An error that is `Codable` and listed in `Connection.Configuration.errorTypes` arrives as itself instead.
public struct RemoteError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The name of the error's type in the other process, for example `DirectoryError`.
    public let typeName: String
    /// The text the other process gave; for errors that are not `Codable` it is withheld unless that process
    /// set `Connection.Configuration.exposesErrorText`.
    public let message: String

    /// Where the method let a `ConnectionError` of a connection of its own pass: the code of that.
    ///
    /// It is not about the call that threw this error, whose method has run.
    public let code: ConnectionError.Code?

    /// Makes an error, as a receiver would see it.
    public init(typeName: String, message: String, code: ConnectionError.Code? = nil) {
        self.typeName = typeName
        self.message = message
        self.code = code
    }

    /// The type and the text.
    public var description: String { "\(typeName): \(message)" }
}
