import Testing

@testable import DistantObjects
@testable import PortTransport

@Suite("The state: promises")
struct StatePromiseTests {
    private let failed = KeptAnswer.Outcome.failed(ConnectionError(.noObject, "none"))

    /// Calls of the server that a client has promised, and a first promise.
    private func promised() throws -> (client: StateSide, server: StateSide, promise: StateProxy, call: InboundCall) {
        let (client, server) = try StateSide.pair()
        let promise = try client.promise()
        try server.receive(client.takeFrames())
        return (client, server, promise, try #require(server.start()))
    }

    @Test("A promise that has become an object has its Return after its Drop, and the object gets no id")
    func answer() throws {
        var (client, server, promise, call) = try promised()
        #expect(try server.answer(call, keeping: .object(StateObject())) == .written)
        #expect(server.takeKinds() == [] && server.state.session.references.exports.count == 0)
        #expect(server.state.serving.answers.keptCount == 1 && client.state.questions.table.promises == 1)
        promise = StateProxy(.object(.rootDirectory), client.host.dead)
        client.release()
        #expect(client.takeKinds() == [.drop])
        try server.receive(StateFrame(.drop, 0))
        let frames = server.takeFrames()
        #expect(frames.map(\.kind) == [.return] && frames[0].bytes == [0, 0, 0, 0, 0])
        #expect(server.done.last == "unexport")
        try client.receive(frames)
        #expect(client.isAtRest && server.isAtRest)
        withExtendedLifetime(promise) {}
    }

    @Test("A promise that fails is answered at once, and its number is free after Drop and Return in either order")
    func failureInStatePromise() throws {
        for dropsFirst in [true, false] {
            let (client, server, promise, call) = try promised()
            guard case .answer(let ticket) = promise.target else { return }
            if dropsFirst { client.dropPromises([ticket]) }
            try server.answer(call, keeping: failed)
            let frames = server.takeFrames()
            #expect(frames.map(\.kind) == [.return])
            try client.receive(frames)
            #expect(client.done == [] && client.failures.isEmpty)
            if !dropsFirst { client.dropPromises([ticket]) }
            #expect(client.state.questions.table.count == 0)
            try server.receive(client.takeFrames().filter { $0.kind == .drop })
            #expect(server.isAtRest && client.state.questions.table.promises == 0)
        }
    }

    @Test("A second Return to a promise that has failed is refused")
    func secondReturn() throws {
        let (client, server, promise, call) = try promised()
        try server.answer(call, keeping: failed)
        let frames = server.takeFrames()
        try client.receive(frames)
        #expect(throws: ProtocolViolation.self) { try client.receive(frames) }
        withExtendedLifetime(promise) {}
    }

    @Test("Messages to a promise start once it is known, in their order and in that of its object")
    func orderInStatePromise() throws {
        let (client, server, promise, call) = try promised()
        let object = StateObject()
        let id = server.state.session.references.exports.mention(object, messages: ClassMessages.of(object), number: 1)
        for waiter in 1...3 { _ = try client.call(waiter, StateSide.message(toPromise: promise)) }
        try client.call(4, to: id)
        try server.receive(client.takeFrames())
        let direct = try #require(server.start())
        #expect(direct.export.object === object && server.start() == nil)
        try server.answer(call, keeping: .object(object))
        // The object is busy with the message that came before it was the answer.
        #expect(server.start() == nil)
        try server.answer(direct)
        try client.call(5, to: id)
        try server.receive(client.takeFrames())
        for question: UInt32 in [1, 2, 3, 5] {
            let next = try #require(server.start())
            // Question 4 was answered, so 5 takes its number.
            #expect(next.question == (question == 5 ? 5 : question) && next.export.object === object)
            try server.answer(next)
        }
        withExtendedLifetime(promise) {}
    }

    @Test("A message with a promise as its argument waits for it, and the next to its object behind it")
    func argumentInStatePromise() throws {
        let (client, server, promise, call) = try promised()
        let other = StateObject()
        let id = server.state.session.references.exports.mention(other, messages: ClassMessages.of(other), number: 1)
        _ = try client.call(1, StateSide.message("takeObject", to: id) { try $0.encode(promise) })
        try client.call(2, to: id)
        try server.receive(client.takeFrames())
        #expect(server.start() == nil)
        let object = StateObject()
        try server.answer(call, keeping: .object(object))
        let first = try #require(server.start())
        #expect(first.tables?.references.first === object)
        #expect(server.start() == nil)
        try server.answer(first)
        #expect(server.start()?.message.name == "take")
    }

    @Test("What names a failed promise fails with its error, before and after that is known", arguments: [true, false])
    func failedInStatePromise(isLate: Bool) throws {
        let (client, server, promise, call) = try promised()
        if isLate { try server.answer(call, keeping: failed) }
        _ = try client.call(1, StateSide.message(toPromise: promise))
        _ = try client.call(2, StateSide.message("takeObject") { try $0.encode(promise) })
        try server.receive(client.takeFrames())
        if !isLate { try server.answer(call, keeping: failed) }
        for _ in 1...2 {
            let next = try #require(server.start())
            #expect(next.obstacle == .failure && (next.failure as? ConnectionError)?.code == .noObject)
            try server.answer(next)
        }
        withExtendedLifetime(promise) {}
    }

    @Test("A dropped promise is cancelled if no message waits for it but cancelled ones")
    func unusedInStatePromise() throws {
        let (client, server, promise, _) = try promised()
        let ticket = try client.call(1, StateSide.message(toPromise: promise))
        guard case .answer(let answer) = promise.target else { return }
        client.dropPromises([answer])
        try server.receive(client.takeFrames())
        #expect(server.done == [])
        client.transition { state, actions in state.giveUp(ticket, CancellationError(), &actions) }
        try server.receive(client.takeFrames())
        #expect(server.done == ["cancel 0"])
    }

    @Test("A dropped promise is needed by each message that names it as an argument, wherever the message waits")
    func neededAsArgument() throws {
        let (client, server, promise, call) = try promised()
        server.state.firstJobReturned(call)
        let other = StateObject()
        let id = server.state.session.references.exports.mention(other, messages: ClassMessages.of(other), number: 1)
        let second = try client.promise(StateSide.message())
        guard case .answer(let answer) = second.target else { return }
        // The first waits for the first promise, the other one behind it.
        _ = try client.call(1, StateSide.message("takeObject", to: id) { try $0.encode(promise) })
        let ticket = try client.call(2, StateSide.message("takeObject", to: id) { try $0.encode(second) })
        try server.receive(client.takeFrames())
        #expect(server.start() != nil)
        client.dropPromises([answer])
        try server.receive(client.takeFrames())
        #expect(server.done == [])
        client.transition { state, actions in state.giveUp(ticket, CancellationError(), &actions) }
        try server.receive(client.takeFrames())
        #expect(server.done == ["cancel 1"])
        withExtendedLifetime((promise, second)) {}
    }

    @Test("Dropping the last of a chain of promises cancels the first")
    func unusedChain() throws {
        for isReversed in [true, false] {
            let (client, server, promise, _) = try promised()
            var chain = [promise]
            for _ in 0..<8 { chain.append(try client.promise(StateSide.message(toPromise: chain[chain.count - 1]))) }
            let answers = chain.compactMap { proxy -> Ticket? in
                if case .answer(let ticket) = proxy.target { ticket } else { nil }
            }
            client.dropPromises(isReversed ? answers.reversed() : answers)
            try server.receive(client.takeFrames())
            #expect(server.done == ["cancel 0"])
            withExtendedLifetime(chain) {}
        }
    }

    @Test("A message lets those to its object start first that it waits for")
    func sameObjectInStatePromise() throws {
        let (client, server, promise, call) = try promised()
        let object = StateObject()
        let id = server.state.session.references.exports.mention(object, messages: ClassMessages.of(object), number: 1)
        // The promise is the object, and the result of a message to it is an argument of a message to the object.
        let inner = try client.promise(StateSide.message(toPromise: promise))
        _ = try client.call(1, StateSide.message("takeObject", to: id) { try $0.encode(inner) })
        try client.call(2, to: id)
        try server.receive(client.takeFrames())
        #expect(server.start() == nil)
        try server.answer(call, keeping: .object(object))
        let first = try #require(server.start())
        #expect(first.flags.contains(.promise) && server.start() == nil)
        try server.answer(first, keeping: .object(object))
        for name in ["takeObject", "take"] {
            let next = try #require(server.start())
            #expect(next.message.name == name && server.start() == nil)
            try server.answer(next)
        }
        withExtendedLifetime((promise, inner)) {}
    }

    @Test("A promise of an object of the caller passes messages on, one after the other")
    func loopBack() throws {
        let (client, server, promise, call) = try promised()
        let proxy = StateProxy(.object(.rootDirectory), server.host.dead)
        for waiter in 1...2 { _ = try client.call(waiter, StateSide.message(toPromise: promise)) }
        try server.receive(client.takeFrames())
        try server.answer(call, keeping: .object(proxy))
        let first = try #require(server.start())
        #expect(first.message.isPassedOn && first.message.name == "take" && first.export.object === proxy)
        #expect(server.start() == nil)
        try server.answer(first)
        #expect(server.start()?.question == 2)
        withExtendedLifetime(promise) {}
    }

    @Test("Calls are passed on without credit and before promises that wait, so that neither side waits for the other")
    func withoutCreditInStatePromise() throws {
        var limits = ConnectionLimits()
        limits.queuedCalls = 1
        let (client, server) = try StateSide.pair(limits: limits)
        var promises: [StateProxy] = []
        // The answer to each side's promise is an object of its own.
        for side in [client, server] {
            let other = side === client ? server : client
            promises.append(try side.promise())
            try other.receive(side.takeFrames())
            let call = try #require(other.start())
            try side.receive(other.takeFrames())
            // This one waits for credit, and the peer's call for the answer.
            _ = try side.call(1, StateSide.message(toPromise: promises[promises.count - 1]))
            let proxy = StateProxy(.object(.rootDirectory), other.host.dead)
            try other.answer(call, keeping: .object(proxy))
            try other.receive(side.takeFrames())
        }
        for side in [client, server] {
            let call = try #require(side.start())
            #expect(call.message.isPassedOn)
            // One promise waits for credit, and the call that is passed on goes past it.
            promises.append(try side.promise())
            promises.append(try side.promise())
            side.endIteration()
            _ = side.takeKinds()
            let message = try StateSide.message()
            message.role = .passedOn
            side.messages.append(message)
            _ = try side.call(9, message)
            #expect(side.takeKinds() == [.call] && side.state.session.credit.calls < 0)
        }
        withExtendedLifetime(promises) {}
    }

    @Test("A call that is passed on stays behind an earlier one that has no room")
    func passedOnOrder() throws {
        let (client, server) = try StateSide.pair()
        client.host.hasRoomForLargeMessages = false
        for (waiter, size) in [(1, 100_000), (2, 1)] {
            let text = String(repeating: "x", count: size)
            let message = try StateSide.message("take") { try $0.encode(text) }
            message.role = .passedOn
            client.messages.append(message)
            _ = try client.call(waiter, message)
        }
        #expect(client.takeKinds() == [] && client.state.questions.pending.count == 2)
        client.host.hasRoomForLargeMessages = true
        client.endIteration()
        #expect(client.takeFrames().map(\.form) == [.withFragments, .withValues])
        withExtendedLifetime(server) {}
    }

    @Test("A side accepts as many calls without credit as it has used numbers")
    func beyondCredit() throws {
        var limits = ConnectionLimits()
        limits.queuedCalls = 1
        let (client, server) = try StateSide.pair(limits: limits)
        let call = StateFrame(.call, 0, 0, 0, 1, 0, 0, 0, 0)
        try client.receive(call)
        #expect(throws: ProtocolViolation.self) { try client.receive(StateFrame(.call, 1, 0, 0, 1, 0, 0, 0, 0)) }
        try server.call(1)
        try server.receive(call)
        try server.receive(StateFrame(.call, 1, 0, 0, 1, 0, 0, 0, 0))
        #expect(throws: ProtocolViolation.self) { try server.receive(StateFrame(.call, 2, 0, 0, 1, 0, 0, 0, 0)) }
    }

    @Test("A promise that waits for credit holds back all later messages, and may be dropped before it is written")
    func unwrittenInStatePromise() throws {
        var limits = ConnectionLimits()
        limits.queuedCalls = 1
        let (client, server) = try StateSide.pair(limits: limits)
        try client.call(1)
        do {
            let promise = try client.promise()
            #expect(try !client.offer())
            withExtendedLifetime(promise) {}
        }
        client.release()
        #expect(client.takeKinds() == [.call])
        try client.receive(StateFrame(.credit, 1))
        client.endIteration()
        #expect(client.takeKinds() == [.call, .drop])
        #expect(try client.offer())
        withExtendedLifetime(server) {}
    }

    @Test("A promise stays behind a call that waits, although there is credit by now")
    func behindCall() throws {
        var limits = ConnectionLimits()
        limits.queuedCalls = 1
        let (client, server) = try StateSide.pair(limits: limits)
        for waiter in 1...2 { try client.call(waiter) }
        try client.receive(StateFrame(.credit, 1))
        let promise = try client.promise()
        client.endIteration()
        var flags = client.takeFrames().map { CallFlags(rawValue: $0.flags) }
        #expect(flags.map { $0.contains(.promise) } == [false, false])
        try client.receive(StateFrame(.credit, 1))
        client.endIteration()
        flags = client.takeFrames().map { CallFlags(rawValue: $0.flags) }
        #expect(flags.map { $0.contains(.promise) } == [true])
        withExtendedLifetime((server, promise)) {}
    }

    @Test("A one-way message that has credit stays behind a promise that has none")
    func behindPromise() throws {
        var limits = ConnectionLimits()
        limits.queuedCalls = 1
        let (client, server) = try StateSide.pair(limits: limits)
        try client.call(1)
        let promise = try client.promise()
        let message = try StateSide.message(toPromise: promise)
        guard case .waiting = client.state.sendOneWay(message, OneWayPlace(), 2, client.host) else {
            Issue.record("the message does not wait")
            return
        }
        client.endIteration()
        #expect(client.takeKinds() == [.call])
        try client.receive(StateFrame(.credit, 1))
        client.endIteration()
        let frames = client.takeFrames()
        #expect(frames.map(\.kind) == [.call, .call])
        #expect(CallFlags(rawValue: frames[1].flags).contains(.oneWay) && client.done.last == "one-way 2")
        withExtendedLifetime((server, promise)) {}
    }

    @Test("Promises keep no side from closing, and a late message to one is no error")
    func closingInStatePromise() throws {
        let (client, server, promise, call) = try promised()
        try server.answer(call, keeping: .object(StateObject()))
        server.beginClosing()
        #expect(server.sayGoodbyeIfIdle())
        let late = try client.promise(StateSide.message(toPromise: promise))
        _ = try client.call(1, StateSide.message(toPromise: late))
        try server.receive(client.takeFrames())
        try client.receive(server.takeFrames())
        client.beginClosing()
        client.transition { state, actions in state.failUnanswered(client.host, "x", &actions) }
        #expect(client.sayGoodbyeIfIdle() && client.failures[1] == .notDelivered)
        server.transition { state, actions in
            _ = state.endCalls(server.host, "x", &actions, because: .closedHere)
            state.end(&actions)
        }
        #expect(server.state.serving.answers.count + server.state.serving.answers.keptCount == 0)
    }

    @Test("Without the feature nothing is sent, and its flags and references are errors")
    func notAgreedInStatePromise() throws {
        let (client, server) = try StateSide.pair()
        client.state.session.handshake.grants.features.remove(.promises)
        server.state.session.handshake.grants.features.remove(.promises)
        let error = #expect(throws: ConnectionError.self) { _ = try client.promise() }
        #expect(error?.code == .notAvailable && error?.message.contains("bit 32") == true)
        #expect(client.takeKinds() == [])
        for flag in [CallFlags.toAnswer, .promise] {
            #expect(throws: ProtocolViolation.self) {
                try server.receive(StateFrame(.call, 0, 0, 0, 0, flags: flag.rawValue))
            }
        }
    }

    @Test("An answer cannot name an answer")
    func inReturn() throws {
        let (client, server, promise, call) = try promised()
        try client.call(1)
        #expect(throws: ProtocolViolation.self) { try client.receive(StateFrame(.return, 1, 1, 3, 0, 0)) }
        withExtendedLifetime((server, promise, call)) {}
    }

    @Test("A side keeps no more answers than the protocol allows")
    func limitInStatePromise() throws {
        var limits = ConnectionLimits()
        limits.queuedCalls = 10_000
        let (client, server) = try StateSide.pair(limits: limits)
        let promises = try (0..<ProtocolLimits.keptAnswers).map { _ in try client.promise() }
        let error = #expect(throws: ConnectionError.self) { _ = try client.promise() }
        #expect(error?.code == .overloaded)
        var frames = client.takeFrames()
        var surplus = try #require(frames.last)
        surplus.bytes = [0x80, 0x20] + surplus.bytes.dropFirst(2)
        frames.append(surplus)
        #expect(throws: ProtocolViolation.self) { try server.receive(frames) }
        withExtendedLifetime(promises) {}
    }
}
