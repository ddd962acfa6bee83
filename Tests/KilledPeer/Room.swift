import DistantObjects
import Synchronization

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// An object that promises are made of.
final class Room: Vendable {
    /// The promises that it has made of the other process's objects.
    private let held = Mutex<[DistantObject]>([])

    static var messages: MessageTable<Room> {
        Message("room", Room.room)
        Message("name", Room.name)
        Message("note", Room.note)
        Message("process", Room.process)
        Message("block", Room.block)
        Message("wait", Room.wait)
        Message("back", Room.back)
        Message("meet", Room.meet)
        Message("play", Room.play)
    }

    func room() -> Room { Room() }
    func name() -> String { "room" }
    func note(_ number: Int) -> Int { number }
    func process() -> Int32 { getpid() }

    /// Says that it runs, and never returns.
    func block(_ watcher: DistantObject) throws {
        _ = try watcher.note.offer("blocked")
        while true { pause() }
    }

    func back(_ object: DistantObject) -> DistantObject { object }
    func meet(_ object: DistantObject) -> Int { 1 }

    /// Says that it runs, and waits until it is cancelled.
    func wait(_ watcher: DistantObject) async throws -> Room {
        let _: Int = try await watcher.note(0)
        try await Task.sleep(for: .seconds(3_600))
        return self
    }

    /// Makes promises of an object of the other process, up to a step.
    func play(_ step: String, _ hall: DistantObject) async throws {
        var promises: [DistantObject] = []
        switch step {
        case "sent": promises = [hall.room.promise("x")]
        case "running": promises = [hall.wait.promise()]
        case "waiting":
            let promise = hall.wait.promise()
            promises = [promise, promise.room.promise("x"), promise.note.promise(1)]
            promises.append(promises[1].room.promise("y"))
            _ = try promise.note.offer(2)
        case "argument":
            let promise = hall.wait.promise()
            promises = [promise, hall.meet.promise(promise), hall.note.promise(1)]
        case "resolved":
            promises = [hall.room.promise("x")]
            let _: String = try await promises[0].name()
        default:
            let promise = hall.pass.promise(self)
            promises = [promise, promise.wait.promise(hall)]
        }
        held.withLock { $0 += promises }
    }
}
