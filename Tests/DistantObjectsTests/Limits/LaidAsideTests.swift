import Dispatch
import DistantObjects
import Synchronization
import TestSupport
import Testing

/// Large messages that wait for something leave room in the window for those that this needs.
@Suite("Large messages behind others that wait", .bounded())
struct LaidAsideTests {
    private static let large = 9 << 20

    /// An object whose methods exchange large values.
    final class Store: Vendable {
        let gate = Signal()
        let isHeld = DispatchSemaphore(value: 0)

        static var messages: MessageTable<Store> {
            Message("count") { (_: Store) in { (bytes: [UInt8]) -> Int in bytes.count } }
            Message("bytes") { (_: Store) in { (count: Int) -> [UInt8] in [UInt8](repeating: 7, count: count) } }
            Message("visit", Store.visit)
            Message("hold", Store.hold)
            Message("stream", Store.stream)
            Message("compare", Store.compare)
        }

        /// Returns itself when the visitor's bytes have come.
        func visit(_ visitor: DistantObject, _ count: Int) async throws -> Store {
            await gate.wait()
            let bytes: [UInt8] = try await visitor.bytes(count)
            #expect(bytes.count == count)
            return self
        }

        /// Keeps the next message to this object waiting until the visitor's bytes have come.
        func hold(_ visitor: DistantObject, _ count: Int) throws -> Int {
            isHeld.wait()
            let done = DispatchSemaphore(value: 0)
            let result = Mutex(0)
            Task {
                let bytes: [UInt8]? = try? await visitor.bytes(count)
                result.withLock { $0 = bytes?.count ?? 0 }
                done.signal()
            }
            done.wait()
            return result.withLock { $0 }
        }

        func stream(_ items: Int, _ count: Int) -> DistantStream<[UInt8]> {
            DistantStream { writer in
                for number in 0..<items { try await writer.send([UInt8](repeating: UInt8(number), count: count)) }
            }
        }

        /// Whether two streams have the same items.
        func compare(_ first: DistantStream<[UInt8]>, _ second: DistantStream<[UInt8]>) async throws -> Bool {
            var others = second.makeAsyncIterator()
            for try await item in first where try await others.next() != item { return false }
            return try await others.next() == nil
        }
    }

    private static func pair(_ configuration: Connection.Configuration = .patient) async throws -> (
        Connection, Connection, Store
    ) {
        let (first, second) = try await Connection.pair(first: configuration, second: configuration)
        let store = Store()
        second.vend(store)
        return (first, second, store)
    }

    @Test("An answer that a method waits for passes a message that waits for the method", arguments: [1, 3])
    func promiseInLaidAside(count: Int) async throws {
        let (first, second, store) = try await Self.pair()
        let visitor = Store()
        let promise = try await first.root.visit.promise(DistantObject(standingFor: visitor), 200_000)
        let calls = (0..<count).map { _ in
            Task { try await promise.count([UInt8](repeating: 1, count: Self.large)) as Int }
        }
        await eventually("all of them are sent") { second.statistics.answers == 1 + count }
        store.gate.send()
        for call in calls { #expect(try await call.value == Self.large) }
        await first.close()
        _ = await second.ended
    }

    @Test("Messages to a promise that keep more bytes waiting than allowed are refused, and the others run")
    func refusedInLaidAside() async throws {
        var configuration = Connection.Configuration.patient
        configuration.limits.waitingBytes = 0
        configuration.limits.answerPatience = .milliseconds(100)
        let (first, second, store) = try await Self.pair(configuration)
        let visitor = Store()
        let promise = try await first.root.visit.promise(DistantObject(standingFor: visitor), 200_000)
        let calls = (0..<3).map { _ in
            Task { try await promise.count([UInt8](repeating: 1, count: Self.large)) as Int }
        }
        await eventually("all of them are sent") { second.statistics.answers == 4 }
        store.gate.send()
        var counts: [Int] = []
        var codes: [ConnectionError.Code?] = []
        for call in calls {
            do { counts.append(try await call.value) } catch { codes.append((error as? ConnectionError)?.code) }
        }
        // One may always wait, whatever its size.
        #expect(counts == [Self.large])
        #expect(codes == [.overloaded, .overloaded])
        #expect(try await promise.count([1, 2]) == 2)
        await first.close()
        _ = await second.ended
    }

    @Test("An answer passes the items of a stream whose reader waits for it")
    func streamInLaidAside() async throws {
        let (first, second, _) = try await Self.pair()
        let root = try await first.root
        let stream: DistantStream<[UInt8]> = try await root.stream(3, Self.large)
        var count = 0
        for try await item in stream {
            #expect(item.count == Self.large)
            let bytes: [UInt8] = try await root.bytes(200_000)
            #expect(bytes.count == 200_000)
            count += 1
        }
        #expect(count == 3)
        await first.close()
        _ = await second.ended
    }

    @Test("An answer passes a message that waits for a method that blocks until the answer comes")
    func busyObject() async throws {
        let (first, second, store) = try await Self.pair()
        let root = try await first.root
        let visitor = DistantObject(standingFor: Store())
        let hold = Task { try await root.hold(visitor, 200_000) as Int }
        await eventually("the method runs") { second.statistics.answers == 1 }
        let count = Task { try await root.count([UInt8](repeating: 1, count: Self.large)) as Int }
        await eventually("both are sent") { second.statistics.answers == 2 }
        store.isHeld.signal()
        #expect(try await count.value == Self.large)
        #expect(try await hold.value == 200_000)
        await first.close()
        _ = await second.ended
    }

    @Test("One stream passes the items of another that are not read yet")
    func streamsInLaidAside() async throws {
        let (first, second, _) = try await Self.pair()
        let root = try await first.root
        func numbers() -> DistantStream<[UInt8]> {
            DistantStream { writer in
                for number in 0..<5 { try await writer.send([UInt8](repeating: UInt8(number), count: 5 << 20)) }
            }
        }
        #expect(try await root.compare(numbers(), numbers()))
        await first.close()
        _ = await second.ended
    }
}
