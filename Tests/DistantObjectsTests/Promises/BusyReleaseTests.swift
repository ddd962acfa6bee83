import DistantObjects
import PortTransport
import Synchronization
import TestSupport
import Testing

@Suite("Releases while the loop gets no processor", .bounded())
struct BusyReleaseTests {
    // The client's loop runs only while the connection opens. After that it stands for a thread that waits for a processor.
    @Test("A thread that calls without a pause gives its promises and proxies back itself")
    func withoutLoop() async throws {
        let loop = ManualLoop()
        let opened = Atomic<Bool>(false)
        let (first, second) = MemoryLink.pair(capacity: 1 << 16)
        var configuration = Connection.Configuration.patient
        // Fewer than the calls make.
        configuration.limits.exports = 1_000
        let server = try Connection.make(second, configuration, isInitiator: false)
        try server.vend(Hall("hall"))
        configuration.loop = loop
        configuration.onEvent = { if $0.code == .opened { opened.store(true, ordering: .releasing) } }
        let client = try Connection.make(first, configuration, isInitiator: true)
        server.begin()
        client.begin()
        await eventually("the connection is open") {
            loop.runUntilIdle()
            return opened.load(ordering: .acquiring)
        }
        try await onThread {
            let hall = try client.blockingRoot(as: HallInterface.self)
            for number in 0..<2_500 {
                #expect(try hall.room.promise("a").room.promise("b").note.blocking(number) == number)
                let rooms: [DistantObject] = try hall.object.pair.blocking()
                #expect(rooms.count == 1)
                let fresh = try hall.room.blocking("\(number)")
                withExtendedLifetime(fresh) {}
            }
        }
        client.invalidate()
        loop.runUntilIdle()
        await server.close()
    }
}
