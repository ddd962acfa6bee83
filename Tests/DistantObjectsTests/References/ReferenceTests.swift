import DistantObjects
import Synchronization
import TestSupport
import Testing

@Suite("References", .bounded())
struct ReferenceTests {
    @Test("A reference that is sent back is the original object")
    func homecoming() async throws {
        let pair = try await Pair()
        let directory = try await pair.client.root
        let observer = Observer()
        try await directory.watch(observer)
        let back: DistantObject? = try await directory.watcher()
        #expect(back?.local(as: Observer.self) === observer)
        // In the other direction, a proxy sent to the object's process is the object, for both types of parameter.
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

    @Test("An object without references is released on the other side")
    func releaseInReference() async throws {
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

    @Test("An exported object lives as long as its proxy")
    func lifetimeInReference() async throws {
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
        await eventually("it is freed") { observer == nil }
        await pair.close()
    }

    @Test("A stored message keeps its object alive, even if its proxy is gone")
    func keptMessage() async throws {
        let pair = try await Pair()
        do {
            let directory = try await pair.client.root
            let kept: RemoteMessage?
            do {
                let proxy: DistantObject = try await directory.observer()
                kept = proxy.count
            }
            for _ in 0..<3 {
                let other: DistantObject = try await directory.observer()
                try await other.note("hello")
                try await pair.client.ping()
            }
            // The releases of those proxies have reached the other side by now.
            try await pair.client.ping()
            try await pair.server.ping()
            let message = try #require(kept)
            let count: Int = try await message()
            #expect(count == 3)
            // The root, and the target of the message.
            #expect(pair.client.statistics.imports == 2)
        }
        try await pair.rest()
        await pair.close()
    }

    @Test("A parameter of a concrete class accepts only a local object")
    func concreteParameter() async throws {
        let pair = try await Pair()
        await expectCode(.wrongArgument) {
            let _: Bool = try await pair.client.root.isOwn(Observer())
        }
        try await pair.rest()
        await pair.close()
    }

    @Test("References in refused calls and failed results are released")
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
    func foreignInReference() async throws {
        let one = try await Pair()
        let two = try await Pair()
        let observer: DistantObject = try await one.client.root.observer()
        let before = two.client.statistics.framesOut
        let directory = try await two.client.root
        #expect(two.client.statistics.framesOut > before)
        try await two.awaitSharedMemory()
        let asked = two.client.statistics.framesOut
        await expectCode(.foreignReference) { try await directory.watch(observer) }
        #expect(two.client.statistics.framesOut == asked)
        await one.close()
        await two.close()
    }

    @Test("A reference in the answer to a cancelled call is released")
    func lateAnswer() async throws {
        let pair = try await RawPeerConnection(.socketpair)
        let call = Task { _ = try await pair.connection.root }
        let raw = pair.raw
        #expect(try await onThread { raw.read()?.kind } == 2)
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
        #expect(try await onThread { raw.read()?.kind } == 4)
        raw.send(3, RawPeer.result(slot: 1))
        // The watermark is the number of the Return, 2, and the id is the received one.
        #expect(try await onThread { raw.read()?.body } == [2, 1, 1, 0])
        #expect(pair.connection.statistics.isAtRest)
        raw.close()
        await pair.expectEnd(RawPeerConnection.isLost)
    }

    @Test("Many threads send and drop the same references at the same time, and each stays correct")
    func manyThreads() async throws {
        let pair = try await Pair()
        let client = pair.client
        try await withThrowingTaskGroup(of: Void.self) { group in
            for thread in 0..<6 {
                group.addTask {
                    guard thread < 3 else {
                        return try await onThread {
                            let root = try client.blockingRoot()
                            for _ in 0..<150 {
                                let observer: DistantObject = try root.observer.blocking()
                                guard try root.mine.blocking(observer) as Bool else { throw NotFound(name: "own") }
                            }
                        }
                    }
                    for _ in 0..<150 {
                        // The proxy of the directory is freed and comes again, too.
                        let root = try await client.root
                        let observer: DistantObject = try await root.observer()
                        #expect(try await root.isOwn(observer))
                    }
                }
            }
            try await group.waitForAll()
        }
        try await pair.rest()
        await pair.close()
    }

    @Test("Proxies may be freed anywhere: during encoding, in a method, or in a deinit")
    func dyingAnywhere() async throws {
        let pair = try await Pair()
        do {
            let root = try await pair.client.root
            for _ in 0..<30 {
                // During encoding.
                let other: DistantObject = try await root.fresh()
                let argument = Dropping(other)
                let back: Dropping = try await root.dropping(argument)
                #expect(argument.proxy == nil && back.number == 1)
                // In the method that has it as an argument, and with the value it replaces.
                try await root.watch(Observer())
                let _: Int = try await root.drop(Observer())
                // In the deinit of an object of this side that the release of an export frees.
                let owned: DistantObject = try await root.fresh()
                try await root.watch(Owning(owned))
                try await root.forget()
            }
            // In the deinit of an object that is freed at the end of the connection.
            let owned: DistantObject = try await root.fresh()
            try await root.watch(Owning(owned))
        }
        pair.server.invalidate()
        _ = await pair.client.ended
        _ = await pair.server.ended
        #expect(pair.client.statistics.isAtRest && pair.server.statistics.isAtRest)
    }

    @Test("Arguments and results whose encoding fails at any step leave nothing behind", arguments: 0..<6)
    func failingEncode(step: Int) async throws {
        let pair = try await Pair()
        do {
            let root = try await pair.client.root
            try await pair.awaitSharedMemory()
            for _ in 0..<5 {
                let frames = pair.client.statistics.framesOut
                await expectCode(.notEncodable) {
                    let _: Int = try await root.take(Failing(step, Observer()), Observer())
                }
                await expectCode(.notEncodable) {
                    try await root.take.oneWay(Failing(step, Observer()), Observer())
                }
                #expect(pair.client.statistics.framesOut == frames)
                #expect(pair.client.statistics.questions == 0 && pair.client.statistics.exports == 0)
                await expectCode(.notEncodable) { let _: Failing = try await root.failing(step) }
                #expect(pair.server.statistics.exports == 1)
            }
            let still: Int = try await root.take(Failing(-1, Observer()), Observer())
            #expect(still == 1)
        }
        try await pair.rest()
        await pair.close()
    }

    @Test("ByCopy sends a copy, and the receiver declares the plain type")
    func byCopy() async throws {
        let pair = try await Pair()
        let back: Foo = try await pair.client.root.copy(Foo(name: "a", age: 5))
        #expect(back.age == 5)
        await pair.close()
    }

    @Test("A message to a local object through a DistantObject copies arguments and results")
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
    @Test("A method calls an object of its caller during the call")
    func callbackInCallback() async throws {
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
    func depthInCallback() async throws {
        var configuration = Connection.Configuration.patient
        configuration.limits.queuedCalls = 1
        let pair = try await Pair(client: configuration, server: configuration)
        let here = Directory()
        let there = try await pair.client.root
        let depth: Int = try await there.bounce(here, there, 100)
        #expect(depth == 100)
        await pair.close()
    }
}

/// An argument that frees a proxy while it is encoded.
final class Dropping: ObjectCoding {
    var proxy: DistantObject?
    let number: Int

    init(_ proxy: DistantObject) {
        self.proxy = proxy
        number = 1
    }

    init(coder: ObjectDecoder) throws {
        number = try coder.decode(Int.self, forKey: "number")
    }

    func encode(with coder: ObjectEncoder) throws {
        proxy = nil
        try coder.encode(number, forKey: "number")
    }
}

/// An object of this side that holds a proxy for one of the other side.
final class Owning: Vendable {
    let proxy: DistantObject

    init(_ proxy: DistantObject) {
        self.proxy = proxy
    }

    static var messages: MessageTable<Owning> {
        Message("nothing", Owning.nothing)
    }

    func nothing() {}
}

/// Its encoding fails at one step, with references before and after it.
final class Failing: ObjectCoding {
    private let step: Int
    private let observers: [Observer]

    init(_ step: Int, _ observer: Observer) {
        self.step = step
        observers = [observer, Observer(), observer]
    }

    init(coder: ObjectDecoder) throws {
        step = try coder.decode(Int.self, forKey: "step")
        observers = []
    }

    func encode(with coder: ObjectEncoder) throws {
        try coder.encode(step, forKey: "step")
        for index in 0..<6 {
            if index == step { throw NotFound(name: "\(step)") }
            try coder.encode(observers[index % 3], forKey: "observer\(index)")
        }
    }
}
