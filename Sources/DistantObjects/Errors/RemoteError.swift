/// An error that a method threw in the other process, of a type that is not listed here.
///
/// An error whose type is `Codable` and listed in `Connection.Configuration.errorTypes` is decoded and thrown instead.
public struct RemoteError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The name of the error's type in the other process, for example `DirectoryError`.
    public let typeName: String
    /// The text of the error.
    ///
    /// If its type is not `Codable`, the other process withholds the text unless
    /// `Connection.Configuration.exposesErrorText` is set there.
    public let message: String

    /// The code of the `ConnectionError` that the method threw, usually from another connection; nil for other errors.
    ///
    /// It does not describe the call that threw this error: its method has run.
    public let code: ConnectionError.Code?

    /// Makes an error, for example for a test.
    public init(typeName: String, message: String, code: ConnectionError.Code? = nil) {
        self.typeName = typeName
        self.message = message
        self.code = code
    }

    /// The type name and the text.
    public var description: String { "\(typeName): \(message)" }
}
