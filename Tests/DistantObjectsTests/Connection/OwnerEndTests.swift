import DistantObjects
import Synchronization
import TestSupport
import Testing

@Suite("The end of an object's owner, and roots from the start", .bounded())
struct OwnerEndTests {
    @Test("A handler is called once when the owner is gone, also a late one, and not after it is cancelled")
    func onEnd() async throws {
        let pair = try await Pair()
        let directory = try await pair.client.root
        let calls = Mutex<[String]>([])
        let called = Signal()
        let note = { @Sendable (name: String) in
            calls.withLock { $0.append(name) }
            called.send()
        }
        for name in ["a", "b"] { directory.onEnd { _ in note(name) } }
        let cancelled = directory.onEnd { _ in note("cancelled") }
        cancelled.cancel()
        DistantObject(standingFor: pair.directory).onEnd { _ in note("local") }
        await pair.server.close()
        await called.wait(for: 2)
        directory.onEnd { end in
            guard case .closedByPeer = end else { return note("\(end)") }
            note("late")
        }
        await called.wait(for: 3)
        #expect(calls.withLock { $0.sorted() } == ["a", "b", "late"])
        cancelled.cancel()
    }

    @Test("A handler learns once that the owner's process was killed, also from a remote of an interface")
    func killedInOwnerEnd() async throws {
        let process = try await KilledProcess("killed-peer", over: .socket)
        let root = try await process.connection.root
        let (called, also) = (Signal(), Signal())
        let ends = Mutex<[ConnectionEnd]>([])
        root.onEnd { end in
            ends.withLock { $0.append(end) }
            called.send()
        }
        try Remote<EmptyInterface>(root).onEnd { _ in also.send() }
        process.kill()
        await process.expectEnd()
        await called.wait()
        await also.wait()
        #expect(called.count == 1 && also.count == 1)
        #expect(ends.withLock { $0.allSatisfy(RawPeerConnection.isLost) })
    }

    private struct EmptyInterface: Interface {}

    @Test("Both sides find each other's roots as soon as the connection is open")
    func rootsInOwnerEnd() async throws {
        for _ in 0..<20 {
            var (first, second) = (Connection.Configuration.patient, Connection.Configuration.patient)
            first.roots = ["": Hall("first")]
            second.roots = ["": Hall("second"), "other": Hall("other")]
            let (one, two) = try await Connection.pair(over: .socketpair, first: first, second: second)
            async let name: String = two.root.name()
            async let own: String = one.root.name()
            #expect(try await name == "first")
            #expect(try await own == "second")
            #expect(try await one.root(named: "other", as: HallInterface.self).name() == "other")
            await one.close()
        }
    }
}
