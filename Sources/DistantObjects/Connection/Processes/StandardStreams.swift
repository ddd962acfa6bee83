import CPortShims
import PortTransport
import Synchronization

/// The standard input and output of a program that other code starts, as the other end of a connection.
///
/// ``Connection/launch(_:arguments:environment:in:standardError:over:options:configuration:)`` starts a program itself. Use this where
/// another library, or a command such as `docker exec`, has to start it:
///
/// ```swift
/// let streams = try StandardStreams()
/// // Start the program with `streams.input`, `streams.output` and the variables `StandardStreams.environment`.
/// let connection = try await streams.connect()
/// ```
///
/// The program calls ``Connection/parent(configuration:)``, as a helper does. What it prints goes to its standard error.
///
/// The descriptors are closed in every program but the one that gets them as its standard streams. Those that are left are closed
/// when this object is freed.
public final class StandardStreams: Sendable {
    /// The variables that tell the program that its standard streams are the connection, in addition to others.
    public static let environment = [ChildProcess.channelVariable: "stdio"]

    private struct Ends {
        /// Those of the program.
        var program: [CInt] = []
        /// Those of this process: the one to read from, and the one to write to.
        var own: (reading: CInt, writing: CInt)?
    }

    /// The descriptor for the program's standard input.
    ///
    /// This object owns it: it is open until ``connect(configuration:)`` is called.
    public let input: CInt
    /// The descriptor for the program's standard output.
    ///
    /// This object owns it: it is open until ``connect(configuration:)`` is called.
    public let output: CInt
    private let ends: Mutex<Ends>

    /// Makes two pipes.
    ///
    /// - Throws: `ConnectionError.transport` if the system has no more descriptors.
    /// - Complexity: O(1).
    public init() throws {
        let (forth, back) = try Connection.transporting("standard streams") {
            let forth = try ChannelEndpoint.pipeDescriptors()
            do { return (forth, try ChannelEndpoint.pipeDescriptors()) } catch {
                for descriptor in [forth.0, forth.1] { port_close(descriptor) }
                throw error
            }
        }
        (input, output) = (forth.0, back.1)
        ends = Mutex(Ends(program: [forth.0, back.1], own: (back.0, forth.1)))
    }

    deinit {
        closeProgramEnds()
        guard let own = ends.withLock({ $0.own.take() }) else { return }
        port_close(own.reading)
        port_close(own.writing)
    }

    /// Opens the connection, when the program was started.
    ///
    /// It closes the program's descriptors in this process. From then on the connection ends if the program does. This can be called
    /// once.
    ///
    /// - Parameter configuration: The configuration of the connection.
    /// - Returns: A connection that both sides have accepted. Its `child` is nil: who has started the program waits for its exit.
    /// - Throws: `ConnectionError.closed` if the program ends first, or was never started; `.transport` if this was called before;
    ///   `.peerRefused`; `.protocolViolation`; `.handshakeTimeout`; `CancellationError`.
    public func connect(configuration: Connection.Configuration = .init()) async throws -> Connection {
        closeProgramEnds()
        guard let own = ends.withLock({ $0.own.take() }) else {
            throw ConnectionError(.transport, "these streams were connected before", context: "standard streams")
        }
        var configuration = configuration
        configuration.name = configuration.name ?? "standard streams"
        do {
            return try await Connection.adopt(
                reading: own.reading, writing: own.writing, isInitiator: true, configuration: configuration)
        } catch let error as ConnectionError where error.code == .protocolViolation {
            throw error.ofPrinting
        }
    }

    private func closeProgramEnds() {
        let descriptors = ends.withLock { ends in
            defer { ends.program = [] }
            return ends.program
        }
        for descriptor in descriptors { port_close(descriptor) }
    }
}
