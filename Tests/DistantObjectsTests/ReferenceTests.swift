import DistantObjects
import Synchronization
import Testing

@Suite("References", .bounded())
struct ReferenceTests {
    @Test("A reference that comes home is the original object")
    func homecoming() async throws {
        let pair = try await Pair()
        let directory = try await pair.client.root
        let observer = Observer()
        try await directory.watch(observer)
        let back: DistantObject? = try await directory.watcher()
        #expect(back?.local(as: Observer.self) === observer)
        // The other way round: a proxy sent to the object's home is the object, for either type of parameter.
        let own: DistantObject = try await directory.observer()
        #expect(try await directory.isOwn(own))
        #expect(try await directory.mine(own))
        try await directory.forget()
        await pair.close()
    }

    @Test("There is one proxy for an object on a connection")
    func oneProxy() async throws {
        let pair = try await Pair()
        let directory = try await pair.client.root
        let first: DistantObject = try await directory.observer()
        let second: DistantObject = try await directory.observer()
        #expect(first === second)
        #expect(try await pair.client.root === directory)
        await pair.close()
    }

    @Test("What nobody refers to any more is released on the other side")
    func release() async throws {
        let pair = try await Pair()
        do {
            let directory = try await pair.client.root
            for _ in 0..<50 {
                try await directory.watch(Observer())
            }
            #expect(pair.server.statistics.exports == 1)
            try await directory.forget()
        }
        try await pair.rest()
        await pair.close()
    }

    @Test("An exported object lives as long as its proxy, and dies with it")
    func lifetime() async throws {
        let pair = try await Pair()
        weak var observer: Observer?
        do {
            let directory = try await pair.client.root
            do {
                let strong = Observer()
                observer = strong
                try await directory.watch(strong)
            }
            #expect(observer != nil)
            let count: Int = try await directory.tell("hello")
            #expect(count == 1)
            try await directory.forget()
        }
        try await pair.rest()
        #expect(observer == nil)
        await pair.close()
    }

    @Test("A parameter of a concrete class takes only an object that is at home")
    func concreteParameter() async throws {
        let pair = try await Pair()
        await expectCode(.wrongArgument) {
            let _: Bool = try await pair.client.root.isOwn(Observer())
        }
        try await pair.rest()
        await pair.close()
    }

    @Test("References in refused calls and failed results are let go")
    func refusedReferences() async throws {
        let pair = try await Pair()
        do {
            let directory = try await pair.client.root
            await expectCode(.noSuchMessage) { try await directory.nothing(Observer(), Observer()) }
            await expectCode(.wrongArgument) { try await directory.watch(Observer(), 1) }
            await expectCode(.wrongArgument) { let _: Int = try await directory.echo(Observer()) }
            await expectCode(.wrongResult) { let _: Int = try await directory.observer() }
        }
        try await pair.rest()
        await pair.close()
    }

    @Test("A reference of another connection is refused before anything is sent")
    func foreign() async throws {
        let one = try await Pair()
        let two = try await Pair()
        let observer: DistantObject = try await one.client.root.observer()
        let before = two.client.statistics.framesOut
        let directory = try await two.client.root
        let asked = two.client.statistics.framesOut
        #expect(asked > before)
        await #expect(throws: (any Error).self) { try await directory.watch(observer) }
        #expect(two.client.statistics.framesOut == asked)
        await one.close()
        await two.close()
    }

    @Test("ByCopy sends a copy, and the receiver declares the plain type")
    func byCopy() async throws {
        let pair = try await Pair()
        let back: Foo = try await pair.client.root.copy(Foo(name: "a", age: 5))
        #expect(back.age == 5)
        await pair.close()
    }

    @Test("A message to an object of this process through a DistantObject makes the same copies")
    func localProxy() async throws {
        let directory = Directory()
        let proxy = DistantObject(standingFor: directory)
        let foo = Foo(name: "James", age: 40)
        let count: Int = try await proxy.add(foo)
        #expect(count == 1)
        #expect(directory.foos.withLock { $0["James"] !== foo })
        await expectCode(.noSuchMessage) { try await proxy.nothing() }
        await expectCode(.wrongArgument) { let _: Int = try await proxy.echo("x") }
    }
}

@Suite("Callbacks", .bounded())
struct CallbackTests {
    @Test("The method calls the caller's object back within the call")
    func callback() async throws {
        let pair = try await Pair()
        let directory = try await pair.client.root
        let observer = Observer()
        try await directory.watch(observer)
        let count: Int = try await directory.tell("hello")
        #expect(count == 1)
        #expect(observer.notes.withLock { $0 } == ["hello"])
        try await directory.forget()
        await pair.close()
    }

    @Test("Calls nest a hundred deep, with queues for one call only")
    func depth() async throws {
        var configuration = Connection.Configuration()
        configuration.limits.queuedCalls = 1
        let pair = try await Pair(client: configuration, server: configuration)
        let here = Directory()
        let there = try await pair.client.root
        let depth: Int = try await there.bounce(here, there, 100)
        #expect(depth == 100)
        await pair.close()
    }
}
