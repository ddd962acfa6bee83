import DistantObjects
import TestSupport
import Testing

@Suite("Calls", .bounded())
struct CallTests {
    @Test("A graph is sent by copy, so changes by the method do not affect the original")
    func copiesInCall() async throws {
        let pair = try await Pair()
        let directory = try await pair.client.root
        let shared = Foo(name: "Juliana", age: 7)
        let bar = Bar([shared, Foo(name: "Nicolas", age: 3), shared])
        let back: Bar = try await directory.bar(bar)
        #expect(bar.foos.map(\.age) == [7, 3, 7])
        // Sharing is kept: the method raised the age of one object twice.
        #expect(back.foos.map(\.age) == [9, 4, 9])
        #expect(back.foos[0] === back.foos[2])
        await pair.close()
    }

    @Test("Messages with and without arguments and results are answered")
    func kindsInCall() async throws {
        let pair = try await Pair()
        let directory = try await pair.client.root
        let count: Int = try await directory.add(Foo(name: "James", age: 40))
        #expect(count == 1)
        let age: Int = try await directory.age("James")
        #expect(age == 40)
        try await directory.clear()
        let names: [String] = try await directory.names()
        #expect(names.isEmpty)
        await pair.close()
    }

    @Test("Subclasses in a collection keep their type")
    func subclassesInCall() async throws {
        let pair = try await Pair()
        let circle = Circle()
        circle.radius = 2.5
        let back: [Shape] = try await pair.client.root.shapes([Shape(), circle])
        #expect(back.count == 2)
        #expect((back[1] as? Circle)?.radius == 2.5)
        #expect(!(back[0] is Circle))
        await pair.close()
    }

    @Test("An actor answers messages, even with a sending argument")
    func actors() async throws {
        let pair = try await Pair()
        pair.server.vend(Counter(), as: "counter")
        let counter = try await pair.client.root(named: "counter")
        let one: Int = try await counter.bump(2)
        let two: Int = try await counter.bump(3)
        #expect(one == 2 && two == 5)
        let age: Int = try await counter.take(Foo(name: "a", age: 9))
        #expect(age == 9)
        await pair.close()
    }

    @Test("An unlisted name and a wrong number or type of arguments are refused with a message")
    func refusalsInCall() async throws {
        let pair = try await Pair()
        let directory = try await pair.client.root
        await expectCode(.noSuchMessage) { try await directory.own() }
        await expectCode(.wrongArgument) { let _: Int = try await directory.echo(1, 2) }
        await expectCode(.wrongArgument) { let _: Int = try await directory.echo("one") }
        await expectCode(.wrongResult) { let _: String = try await directory.echo(1) }
        await expectCode(.wrongResult) { let _: Int = try await directory.clear() }
        await expectCode(.noSuchRoot) { _ = try await pair.client.root(named: "other") }
        let still: Int = try await directory.echo(4)
        #expect(still == 4)
        await pair.close()
    }

    @Test("An error of a known type arrives with its content, others by name without private text")
    func errorsInCall() async throws {
        var client = Connection.Configuration.patient
        client.errorTypes = [NotFound.self]
        let pair = try await Pair(client: client)
        let directory = try await pair.client.root
        await #expect(throws: NotFound(name: "nobody")) { let _: Int = try await directory.age("nobody") }
        do {
            try await directory.secret()
            Issue.record("nothing was thrown")
        } catch let error as RemoteError {
            #expect(error.typeName == "Secret")
            #expect(!error.message.contains("somebody"))
        }
        await pair.close()

        let plain = try await Pair()
        await #expect(throws: RemoteError.self) { let _: Int = try await plain.client.root.age("nobody") }
        await plain.close()
    }

    @Test("Large and small messages go both ways at the same time", arguments: [0, 70_000, 1 << 20, 9 << 20])
    func largeInCall(size: Int) async throws {
        let pair = try await Pair()
        let directory = try await pair.client.root
        let bytes = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        async let small: Int = directory.echo(5)
        let back: [UInt8] = try await directory.bytes(bytes)
        #expect(back == bytes)
        #expect(try await small == 5)
        await pair.close()
    }

    @Test("The same calls work over pipes")
    func pipesInCall() async throws {
        let pair = try await Pair(over: .pipes)
        let directory = try await pair.client.root
        let count: Int = try await directory.add(Foo(name: "James", age: 40))
        #expect(count == 1)
        let big: [UInt8] = try await directory.bytes([UInt8](repeating: 7, count: 300_000))
        #expect(big.count == 300_000)
        await pair.close()
    }

    @Test("More tasks may call at a time than the peer queues")
    func manyInCall() async throws {
        var server = Connection.Configuration.patient
        server.limits.queuedCalls = 4
        let pair = try await Pair(server: server)
        let directory = try await pair.client.root
        let sum = try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 0..<2_000 {
                group.addTask { try await directory.echo(number) }
            }
            return try await group.reduce(0, +)
        }
        #expect(sum == 2_000 * 1_999 / 2)
        await pair.close()
    }

    @Test("Messages refused for their long names do not affect later answers")
    func longNames() async throws {
        let pair = try await Pair()
        let directory = try await pair.client.root
        let name = String(repeating: "x", count: 2_000)
        for _ in 0..<20 {
            await withTaskGroup { group in
                for _ in 0..<16 {
                    group.addTask {
                        await expectCode(.noSuchMessage) { try await directory.message(name)(Array(0..<1_000)) }
                    }
                }
            }
            let sum = try await withThrowingTaskGroup(of: Int.self) { group in
                for number in 0..<64 {
                    group.addTask { try await directory.echo(number) }
                }
                return try await group.reduce(0, +)
            }
            #expect(sum == 64 * 63 / 2)
        }
        await pair.close()
    }

    @Test("Calls inside run give the same results")
    func runInCall() async throws {
        let pair = try await Pair()
        let directory = try await pair.client.root
        let sum = try await pair.client.run {
            var sum = 0
            for number in 0..<100 { sum += try await directory.echo(number) }
            return sum
        }
        #expect(sum == 4_950)
        await pair.close()
    }
}

/// Expects the body to throw a `ConnectionError` with a code.
func expectCode(
    _ code: ConnectionError.Code, _ body: () async throws -> Void, location: SourceLocation = #_sourceLocation
) async {
    do {
        try await body()
        Issue.record("nothing was thrown", sourceLocation: location)
    } catch let error as ConnectionError {
        #expect(error.code == code, "\(error)", sourceLocation: location)
        #expect(!error.message.isEmpty, sourceLocation: location)
    } catch {
        Issue.record("\(error) was thrown", sourceLocation: location)
    }
}
