import DistantObjects
import Foundation
import PortTransport

/// What a client does with a root, with every value compared.
enum Visits {
    /// A visitor that answers with a number that its caller can compute.
    private final class Visitor: Vendable, Implements {
        typealias I = VisitorInterface

        static var messages: MessageTable<Visitor> { Message(\I.ask) { _ in { (number: Int) in number &* 3 } } }
    }

    /// Makes a random call.
    static func call(_ root: Remote<LedgerInterface>, _ generator: inout SeededGenerator) async throws {
        let number = Int.random(in: 0...1_000, using: &generator)
        switch Int.random(in: 0...4, using: &generator) {
        case 0:
            // Some are large enough for shared memory and for many frames.
            let size = 1 << Int.random(in: 0...18, using: &generator)
            let (first, step) = (UInt8.random(in: 0...255, using: &generator), UInt8(number % 256))
            let bytes = [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
                for index in 0..<size { buffer[index] = first &+ UInt8(truncatingIfNeeded: index / 251) &* step }
                count = size
            }
            let reversed = try await root.echo(bytes)
            guard reversed == bytes.reversed() else { Verdict.fail("\(size) bytes came back changed") }
        case 1:
            var next = number
            for try await element in try await root.count(number, 1_000) {
                guard element == next else { Verdict.fail("a stream has \(element) in place of \(next)") }
                next += 1
                // Some readers leave early.
                if next == 2 * number { return }
            }
            guard next == number + 1_000 else { Verdict.fail("a stream has ended at \(next)") }
        case 2:
            let sum = try await root.sum(DistantStream(0..<number))
            guard sum == number * (number - 1) / 2 else { Verdict.fail("the sum to \(number) is \(sum)") }
        case 3:
            let count = number % 20
            let sum = try await root.visit(Remote(vending: Visitor()), count)
            guard sum == 3 * count * (count - 1) / 2 else { Verdict.fail("\(count) callbacks gave \(sum)") }
        default:
            // A message to a result that has not come yet.
            let part = root.part.promise(number)
            let found = try await part.number()
            guard found == number else { Verdict.fail("a part has the number \(found) in place of \(number)") }
        }
    }

    /// Runs as a process with several clients, and writes to a file how many visits they have made.
    static func run(name: String, _ words: ArraySlice<String>) async throws {
        let numbers = words.compactMap { UInt64($0) }
        let (clients, seed) = (Int(numbers[0]), numbers[1])
        let address = ConnectionAddress.service(
            name, launching: CommandLine.arguments[0], arguments: ["service", name], within: .seconds(120))
        let calls = try await withThrowingTaskGroup(of: Int.self) { group in
            for client in 0..<clients {
                group.addTask {
                    var generator = SeededGenerator(seed: seed &+ UInt64(client))
                    let count = Int.random(in: 1...20, using: &generator)
                    for number in 0..<count where try await !visit(address, &generator) { return number }
                    return count
                }
            }
            return try await group.reduce(0, +)
        }
        try Data("\(calls)".utf8).write(to: URL(fileURLWithPath: words.last ?? ""))
    }

    /// Connects, makes some calls, and closes or cuts the connection.
    ///
    /// - Returns: False if the service has ended meanwhile, which it does when it is killed.
    private static func visit(_ address: ConnectionAddress, _ generator: inout SeededGenerator) async throws -> Bool {
        let connection: Connection
        do { connection = try await Connection.open(address, configuration: .patient) } catch let error
            as ConnectionError
        {
            // It was killed between two steps.
            guard error.code == .closed else { throw error }
            return false
        }
        do {
            let root = try await connection.root(as: LedgerInterface.self)
            for _ in 0..<Int.random(in: 1...10, using: &generator) { try await call(root, &generator) }
            if Bool.random(using: &generator) { await connection.close() } else { connection.invalidate() }
            return true
        } catch let error as ConnectionError {
            guard case .lost = await connection.ended else { throw error }
            return false
        }
    }
}
