import PortTransport

/// An error that a method threw in the other process, of a type that is not listed here, or that cannot be read as this type.
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

    /// Why the error could not be read although its type is listed here; nil if it is not listed.
    ///
    /// The other process is of another version: the error has a case that is not known here, or other fields.
    public let decodingFailure: String?

    /// Makes an error, for example for a test.
    public init(
        typeName: String, message: String, code: ConnectionError.Code? = nil, decodingFailure: String? = nil
    ) {
        self.typeName = typeName
        self.message = message
        self.code = code
        self.decodingFailure = decodingFailure
    }

    /// The type name and the text, and why it could not be read as its type.
    ///
    /// Without control characters, which a terminal would obey: a peer may write anything into `message`.
    public var description: String {
        let text = "\(typeName): \(message)"
        guard let decodingFailure else { return PlainText.lines(text) }
        return PlainText.lines("\(text) (not read as the \(typeName) that is listed here: \(decodingFailure))")
    }
}
