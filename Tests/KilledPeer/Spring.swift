import DistantObjects
import Synchronization

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// An object that sends and reads streams, and has its process killed at a step of one.
final class Spring: Vendable {
    typealias Numbers = DistantStream<[Int]>.WithFinal<Int>

    /// The streams that are neither read nor let go.
    private let held = Mutex<[Numbers]>([])

    static var messages: MessageTable<Spring> {
        Message("die", Spring.die)
        Message("numbers", Spring.numbers)
        Message("read", Spring.read)
        Message("same", Spring.same)
    }

    func die() { kill(getpid(), SIGKILL) }

    /// Returns a stream of numbers, each in an array.
    func numbers(_ count: Int, _ step: String) -> Numbers {
        DistantStream.WithFinal { [self] writer in
            for number in 0..<count {
                if step == "first item", number == 1 { die() }
                if step == "some items", number == count / 2 {
                    // What was sent is written now, or will never be.
                    await Task.yield()
                    die()
                }
                let isLarge = step == "within a large item" && number == count / 2
                try await writer.send(Array(repeating: number, count: isLarge ? 4 << 20 : 1))
                if isLarge { die() }
            }
            if step == "last item" { die() }
            return count
        }
    }

    /// Reads a stream up to a step.
    @concurrent
    func read(_ numbers: Numbers, _ step: String) async throws {
        if step == "received" {
            held.withLock { $0.append(numbers) }
            return die()
        }
        var iterator = numbers.makeAsyncIterator()
        if step == "credited" { return die() }
        for _ in 0..<100 { _ = try await iterator.next() }
        if step == "some read" { return die() }
        if step == "stopped" {
            iterator = DistantStream([]).makeAsyncIterator()
            return die()
        }
        while try await iterator.next() != nil {}
        if step == "all read" { return die() }
        _ = try await numbers.final
        die()
    }

    /// Passes a stream back.
    func same(_ numbers: Numbers) -> Numbers { numbers }
}
