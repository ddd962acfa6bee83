import DistantObjects
import Synchronization

/// An object that answers with the answers of a third process, which its process launches.
///
/// The third process has a switchboard as well, which answers by itself.
final class Switchboard: Vendable {
    typealias Numbers = DistantStream<[Int]>.WithFinal<Int>

    private let third = Mutex<DistantObject?>(nil)
    /// The number of calls that wait.
    private let waiting = Mutex(0)

    static var messages: MessageTable<Switchboard> {
        Message("launch", Switchboard.launch)
        Message("name") { (_: Switchboard) in { () -> String in "board" } }
        Message("itself") { (board: Switchboard) in { () -> Switchboard in board } }
        Message("same") { (_: Switchboard) in { (numbers: Numbers) -> Numbers in numbers } }
        Message("count", Switchboard.count)
        Message("numbers", Switchboard.numbers)
        Message("bytes", Switchboard.bytes)
        Message("fail", Switchboard.fail)
        Message("wait", Switchboard.wait)
        Message("leave", Switchboard.leave)
        Message("relayName") { (board: Switchboard) in
            { () -> TailCall<String> in try board.onward { $0.name.tailCall() } }
        }
        Message("relayItself") { (board: Switchboard) in
            { () -> TailCall<DistantObject> in try board.onward { $0.itself.tailCall() } }
        }
        Message("relaySame") { (board: Switchboard) in
            { (numbers: Numbers) -> TailCall<Numbers> in try board.onward { $0.same.tailCall(numbers) } }
        }
        Message("relayCount") { (board: Switchboard) in
            { (count: Int) -> TailCall<DistantStream<Int>> in try board.onward { $0.count.tailCall(count) } }
        }
        // The interface says that there is no result, and the third process returns a stream all the same.
        Message("relayNothing") { (board: Switchboard) in
            { (count: Int) -> TailCall<Void> in try board.onward { $0.count.tailCall(count) } }
        }
        Message("relayNumbers") { (board: Switchboard) in
            { (count: Int) -> TailCall<Numbers> in try board.onward { $0.numbers.tailCall(count) } }
        }
        Message("relayBytes") { (board: Switchboard) in
            { (count: Int) -> TailCall<SharedBytes> in try board.onward { $0.bytes.tailCall(count) } }
        }
        Message("relayFail") { (board: Switchboard) in
            { (count: Int) -> TailCall<Void> in try board.onward { $0.fail.tailCall(count) } }
        }
        Message("relayWait") { (board: Switchboard) in
            { () -> TailCall<Void> in try board.onward { $0.wait.tailCall() } }
        }
        Message("relayLeave") { (board: Switchboard) in
            { () -> TailCall<Void> in try board.onward { $0.leave.tailCall() } }
        }
        Message("askName", Switchboard.askName)
    }

    /// Launches the third process.
    @concurrent
    func launch() async throws {
        let connection = try await Connection.launch(CommandLine.arguments[0], configuration: .patientOpening)
        let board = try await connection.root(named: "switchboard")
        third.withLock { $0 = board }
    }

    private func onward<Result>(_ call: (DistantObject) -> TailCall<Result>) throws -> TailCall<Result> {
        guard let third = third.withLock({ $0 }) else { throw CancellationError() }
        return call(third)
    }

    /// Asks the third process and returns the result, or throws the error.
    @concurrent
    func askName() async throws -> String {
        guard let third = third.withLock({ $0 }) else { throw CancellationError() }
        return try await third.name()
    }

    func count(_ count: Int) -> DistantStream<Int> { DistantStream(0..<count) }

    func numbers(_ count: Int) -> Numbers {
        DistantStream.WithFinal { writer in
            for number in 0..<count { try await writer.send([number, number * number]) }
            return count
        }
    }

    func bytes(_ count: Int) throws -> SharedBytes {
        guard let connection = Connection.current else { throw CancellationError() }
        return try connection.withBlob(byteCount: count) { bytes in
            for index in bytes.indices { bytes[index] = UInt8(truncatingIfNeeded: index &* 31) }
        }
    }

    /// Throws an error with a stream, which the caller's caller does not know.
    func fail(_ count: Int) throws { throw StreamError(numbers: DistantStream(0..<count)) }

    /// Waits until it is cancelled.
    @concurrent
    func wait() async throws {
        waiting.withLock { $0 += 1 }
        try await Task.sleep(for: .seconds(3_600))
    }

    /// Closes the connection of its caller, which waits for a call, and returns when it takes no more calls.
    @concurrent
    func leave() async throws {
        guard let connection = Connection.current else { throw CancellationError() }
        while waiting.withLock({ $0 }) == 0 { await Task.yield() }
        Task { await connection.close(timeout: .seconds(600)) }
        while !connection.isEnded { await Task.yield() }
    }
}

/// An error with a stream.
struct StreamError: Error, Codable {
    let numbers: DistantStream<Int>
}
