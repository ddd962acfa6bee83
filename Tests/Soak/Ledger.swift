import DistantObjects
import Foundation
import PortTransport
import Synchronization

struct LedgerInterface: Interface {
    let echo = Signature<[UInt8], [UInt8]>("echo")
    let count = Signature<DistantStream<Int>, Int, Int>("count")
    let sum = Signature<Int, DistantStream<Int>>("sum")
    let visit = Signature<Int, Remote<VisitorInterface>, Int>("visit")
    let part = Signature<Remote<PartInterface>, Int>("part")
    let use = Signature<[Int]>("use")
}

struct VisitorInterface: Interface {
    let ask = Signature<Int, Int>("ask")
}

struct PartInterface: Interface {
    let number = Signature<Int>("number")
}

/// The root of the service and of the helpers.
final class Ledger: Vendable, Implements {
    typealias I = LedgerInterface

    private let connections = Mutex<[ObjectIdentifier: Connection]>([:])

    static var messages: MessageTable<Ledger> {
        Message(\I.echo) { _ in { (bytes: [UInt8]) in bytes.reversed() } }
        Message(\I.count) { _ in { (first: Int, count: Int) in DistantStream(first..<(first + count)) } }
        Message(\I.sum, Ledger.sum)
        Message(\I.visit, Ledger.visit)
        Message(\I.part) { _ in { (number: Int) in Remote(vending: Part(number)) } }
        Message(\I.use, Ledger.use)
    }

    private final class Part: Vendable, Implements {
        typealias I = PartInterface

        static var messages: MessageTable<Part> { Message(\I.number) { part in { part.number } } }

        private let number: Int

        init(_ number: Int) { self.number = number }
    }

    func sum(_ numbers: DistantStream<Int>) async throws -> Int {
        var sum = 0
        for try await number in numbers { sum &+= number }
        return sum
    }

    /// Asks the visitor as often, and adds the answers.
    func visit(_ visitor: Remote<VisitorInterface>, _ count: Int) async throws -> Int {
        var sum = 0
        for number in 0..<count { sum &+= try await visitor.ask(number) }
        return sum
    }

    /// The descriptors, threads and connections of this process, and what the tables of its connections hold.
    func use() -> [Int] {
        let open = connections.withLock { Array($0.values) }
        let tables = open.map { connection -> Int in
            let counts = connection.statistics
            let references = counts.exports + counts.imports
            return references + counts.questions + counts.answers + counts.pending + counts.streams + counts.blobs
        }.reduce(0, +)
        return [Process.descriptors(of: getpid()), Process.threads(of: getpid()), open.count, tables]
    }

    private func enter(_ connection: Connection) {
        connections.withLock { $0[ObjectIdentifier(connection)] = connection }
        Task {
            _ = await connection.ended
            connections.withLock { _ = $0.removeValue(forKey: ObjectIdentifier(connection)) }
        }
    }

    /// Runs as the service at an address.
    static func serve(_ address: ConnectionAddress, _ configuration: Connection.Configuration = .patient) async throws {
        let listener = try Listener(at: address, configuration: configuration)
        let ledger = Ledger()
        for await connection in listener {
            ledger.enter(connection)
            try connection.vend(ledger)
        }
    }

    /// Runs as a helper.
    static func help() async throws {
        let connection = try await Connection.parent(configuration: .patient)
        try connection.vend(Ledger())
        _ = await connection.ended
    }
}

extension Connection.Configuration {
    /// For a machine on which two hundred clients share two processors.
    static var patient: Self {
        var configuration = Self()
        configuration.handshakeTimeout = .seconds(120)
        configuration.lookupTimeout = .seconds(120)
        return configuration
    }
}

/// What the system says of processes.
enum Process {
    static func descriptors(of pid: Int32) -> Int { count("/proc/\(pid)/fd") }
    static func threads(of pid: Int32) -> Int { count("/proc/\(pid)/task") }

    private static func count(_ folder: String) -> Int {
        (try? FileManager.default.contentsOfDirectory(atPath: folder).count) ?? 0
    }

    /// What the descriptors of a process are, and how many of each.
    static func kinds(of pid: Int32) -> [String: Int] {
        let numbers = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/fd")) ?? []
        return numbers.reduce(into: [:]) { kinds, number in
            let name = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(pid)/fd/\(number)")) ?? "?"
            kinds[String(name.prefix { $0 != "[" || name.hasPrefix("anon") }), default: 0] += 1
        }
    }

    /// The processes that have a variable of that value, other than zombies.
    static func all(with variable: String) -> [Int32] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return names.compactMap { Int32($0) }.filter { pid in
            guard pid != getpid(), let environment = FileManager.default.contents(atPath: "/proc/\(pid)/environ") else {
                return false
            }
            return environment.split(separator: 0).contains { $0.elementsEqual(variable.utf8) }
        }
    }
}
