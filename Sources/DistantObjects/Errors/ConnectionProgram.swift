import PortTransport

/// A program as it introduces itself when a connection is opened.
///
/// Both texts are the program's own claim: any process can send any name. What the kernel says of the peer is in
/// `PeerCredentials`.
public struct ConnectionProgram: Sendable, Hashable, CustomStringConvertible {
    /// The name, at most 1,024 bytes; empty if the program gives none.
    public let name: String
    /// The version, in the program's own words, at most 128 bytes; empty if it gives none.
    public let version: String

    init(name: String, version: String) {
        self.name = name
        self.version = version
    }

    /// The name of this process's executable, without a version.
    static let ofThisProcess = ConnectionProgram(
        name: CommandLine.arguments.first.map { String($0.split(separator: "/").last ?? "") } ?? "", version: "")

    /// The name and the version, such as "FooBarServer 2.1", without control characters and at most 200 characters.
    ///
    /// A peer may write anything into them, and a description becomes a line of a log.
    public var description: String {
        let text = version.isEmpty ? name : "\(name) \(version)"
        return PlainText.line(String(text.prefix(200)))
    }

    /// The part of a refusal that names the side which connected or accepted, and its program.
    func side(isInitiator: Bool) -> String {
        let side = isInitiator ? "the side that connects" : "the side that is connected to"
        let text = "\(self)"
        return text.isEmpty ? side : "\(side) (\(text))"
    }
}
