import DistantObjects
import Foundation
import FoundationCoding
import TestSupport
import Testing

final class Registrar: Vendable {
    static var messages: MessageTable<Registrar> {
        Message("promote", Registrar.promote)
        Message("grow", Registrar.grow)
        Message("oldest", Registrar.oldest)
    }

    func promote(_ employee: NSCoded<Employee>) -> NSCoded<Employee> {
        let old = employee.object
        return NSCoded(Employee(first: old.first, last: old.last, number: old.number + 1))
    }

    func oldest(_ bar: NSCoded<Bar, Foo>, _ others: NSCoded<NSMutableArray, Foo>) -> NSCoded<NSMutableArray, Foo> {
        let all = (bar.object.foos as [AnyObject] + others.object as [AnyObject]).compactMap { $0 as? Foo }
        return NSCoded(NSMutableArray(array: all.sorted { $0.age > $1.age }))
    }

    func grow(_ shelf: NSCoded<Shelf>, _ foo: NSCoded<Foo>) -> Int {
        shelf.object.foos.add(foo.object)
        return shelf.object.foos.count
    }
}

@Suite("NSCoding objects in messages")
struct ConnectionTests {
    @Test("They go by copy as arguments and results of calls")
    func messagesInConnection() async throws {
        let (client, server) = try await Connection.pair(first: .patient, second: .patient)
        server.vend(Registrar())
        let registrar = try await client.root
        let back: NSCoded<Employee> = try await registrar.promote(
            NSCoded(Employee(first: "Ada", last: "Lovelace", number: 12)))
        #expect((back.object.first, back.object.last, back.object.number) == ("Ada", "Lovelace", 13))
        let shelf = Shelf([Foo(name: "Juliana", age: 7)])
        let count: Int = try await registrar.grow(NSCoded(shelf), NSCoded(Foo(name: "James", age: 40)))
        #expect(count == 2)
        #expect(shelf.foos.count == 1)
        await client.close(timeout: TestTimeout.wait)
        _ = await server.ended
    }

    @Test("Bar and arrays go both ways where the receiver lists their content")
    func listed() async throws {
        let (client, server) = try await Connection.pair(first: .patient, second: .patient)
        server.vend(Registrar())
        let registrar = try await client.root
        let sorted: NSCoded<NSMutableArray, Foo> = try await registrar.oldest(
            NSCoded(Bar()), NSCoded(NSMutableArray(array: [Foo(name: "James", age: 40)])))
        #expect(sorted.object.compactMap { ($0 as? Foo)?.name } == ["James", "Juliana", "Nicolas"])
        await client.close(timeout: TestTimeout.wait)
        _ = await server.ended
    }

    @Test("An object of another class than the method takes is an error of the call, and the connection goes on")
    func wrongClass() async throws {
        let (client, server) = try await Connection.pair(first: .patient, second: .patient)
        server.vend(Registrar())
        let registrar = try await client.root
        await #expect(throws: (any Error).self) {
            let _: NSCoded<Employee> = try await registrar.promote(NSCoded(Foo(name: "x", age: 1)))
        }
        let count: Int = try await registrar.grow(NSCoded(Shelf([])), NSCoded(Foo(name: "y", age: 2)))
        #expect(count == 1)
        await client.close(timeout: TestTimeout.wait)
        _ = await server.ended
    }
}
