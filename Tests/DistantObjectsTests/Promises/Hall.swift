import DistantObjects
import Synchronization
import TestSupport

// A house whose rooms are reached one from the other, by promises.

struct HallInterface: Interface {
    let room = Signature<Remote<HallInterface>, String>("room")
    let known = Signature<Remote<HallInterface>?, String>("known")
    let later = Signature<Remote<HallInterface>, String>("later")
    let broken = Signature<Remote<HallInterface>, String>("broken")
    let back = Signature<Remote<HallInterface>, Remote<HallInterface>>("back")
    let backLater = Signature<Remote<HallInterface>, Remote<HallInterface>>("backLater")
    let note = Signature<Int, Int>("note")
    let meet = Signature<String, Remote<HallInterface>>("meet")
    let name = Signature<String>("name")
    let wait = Signature<Remote<HallInterface>>("wait")
    let bytes = Signature<Int, [UInt8]>("bytes")
}

struct NoRoom: Error, Codable, Equatable {
    var name: String
}

/// A room, which notes what it is sent.
final class Hall: Vendable, Implements {
    typealias I = HallInterface

    let label: String
    let rooms = Mutex<[String: Hall]>([:])
    let notes = Mutex<[Int]>([])
    let noted = Signal()
    let gate = Signal()
    let started = Signal()
    let stopped = Signal()

    init(_ label: String) { self.label = label }

    static var messages: MessageTable<Hall> {
        Message(\I.room, Hall.room)
        Message(\I.known, Hall.known)
        Message(\I.later, Hall.later)
        Message(\I.broken, Hall.broken)
        Message(\I.back, Hall.back)
        Message(\I.backLater, Hall.backLater)
        Message(\I.note, Hall.note)
        Message(\I.meet, Hall.meet)
        Message(\I.name, Hall.name)
        Message(\I.wait, Hall.wait)
        Message(\I.bytes, Hall.bytes)
        Message("number") { (_: Hall) in { () -> Int in 1 } }
        Message("pair") { (hall: Hall) in { () -> [Hall] in [hall] } }
        Message("relay", Hall.relay)
        Message("pass") { (_: Hall) in { (object: DistantObject) -> DistantObject in object } }
        Message("echo") { (_: Hall) in { (bytes: [UInt8]) -> [UInt8] in bytes } }
    }

    func room(_ name: String) -> Hall {
        rooms.withLock { rooms in
            let room = rooms[name] ?? Hall(name)
            rooms[name] = room
            return room
        }
    }

    func known(_ name: String) -> Hall? { rooms.withLock { $0[name] } }

    func later(_ name: String) async -> Hall {
        started.send()
        await gate.wait()
        return room(name)
    }

    func broken(_ name: String) async throws -> Hall {
        started.send()
        await gate.wait()
        throw NoRoom(name: name)
    }

    func back(_ hall: Remote<HallInterface>) -> Remote<HallInterface> { hall }

    func backLater(_ hall: Remote<HallInterface>) async -> Remote<HallInterface> {
        started.send()
        await gate.wait()
        return hall
    }

    func note(_ number: Int) -> Int {
        notes.withLock { $0.append(number) }
        noted.send()
        return number
    }

    func meet(_ other: Remote<HallInterface>) async throws -> String {
        if let hall = other.local(as: Hall.self) { return "own \(hall.label)" }
        return try await other.name()
    }

    func name() -> String { label }

    func wait() async throws -> Hall {
        started.send()
        do {
            try await Task.sleep(for: .seconds(3_600))
        } catch {
            stopped.send()
            throw error
        }
        return self
    }

    func bytes(_ bytes: [UInt8]) -> Int { bytes.count }

    /// Answers with a promise, which is not allowed.
    func relay(_ hall: Remote<HallInterface>) -> Remote<HallInterface> { hall.room.promise("relayed") }
}

/// A client and the hall that the server vends.
struct Visit {
    let pair: Pair
    let served = Hall("hall")
    let hall: Remote<HallInterface>

    init(
        client: Connection.Configuration = .patient, server: Connection.Configuration = .patient,
        over transport: Connection.PairTransport = .socketpair
    ) async throws {
        var client = client
        client.errorTypes = [NoRoom.self]
        pair = try await Pair(client: client, server: server, over: transport)
        try pair.server.vend(served, as: "hall")
        hall = try await pair.client.root(named: "hall", as: HallInterface.self)
    }

    /// The room of that name in the server's process.
    func room(_ name: String) -> Hall { served.room(name) }
}
