import DistantObjects
import TestSupport

/// A promise that a client holds.
struct PromisedGift {
    /// Its identity is 0 if the client does not know it.
    var gift: Gift
    let route: Int
    /// Whether there will be no object.
    var fails = false
}

// What a client does with promises.
extension ScheduleWorld {
    /// One step of a client's own task.
    ///
    /// The task sends one message of a route after the other.
    func step(_ promises: inout [PromisedGift], _ sender: Int, _ known: inout [Gift]) async {
        guard let promise = promises.randomElement(using: &random.value) else {
            return await begin(&promises, sender, known)
        }
        let (gift, route) = (promise.gift, promise.route)
        switch Int.random(in: 0..<22, using: &random.value) {
        case 0...4: await begin(&promises, sender, known)
        // Lets go of it at once.
        case 5: _ = chain(to: promise)
        case 6...8: promises.append(chain(to: promise))
        case 9...11: await attempt { try await gift.object.note.oneWay(route, self.next(route)) }
        case 12: spawn(gift, sender) { try await self.send($0, -1) }
        case 13:
            if let target = known.randomElement(using: &random.value) {
                spawn(target, sender) { try await self.send($0, sender + Self.besides, with: gift) }
            }
        case 14: promises.removeFirst()
        case 15: promises.removeAll { _ in Bool.random(using: &random.value) }
        // They use up the credit until the promise is known.
        case 20, 21: for _ in 0..<4 { spawn(gift, sender) { try await self.send($0, -1) } }
        case 16, 17: await attempt(promise) { if let gift = try await self.resolve(promise) { known.append(gift) } }
        default: await attempt(promise) { try await self.send(gift, route) }
        }
        if promises.count > 8 { promises.removeFirst() }
    }

    /// Sends a promise to an object, or to another promise.
    private func begin(_ promises: inout [PromisedGift], _ sender: Int, _ known: [Gift]) async {
        guard let target = known.randomElement(using: &random.value), target.object.connection != nil else { return }
        promises.append(promise(from: target.object, sender, with: promises.randomElement(using: &random.value)))
    }

    private func chain(to promise: PromisedGift) -> PromisedGift {
        var next = self.promise(from: promise.gift.object, promise.route)
        next.fails = next.fails || promise.fails
        return next
    }

    private func promise(
        from object: DistantObject, _ sender: Int, with argument: PromisedGift? = nil
    ) -> PromisedGift {
        let number = next(sender)
        let pauses = Int.random(in: 0..<9, using: &random.value)
        let route = newRoute()
        func made(_ identity: Int, _ object: DistantObject, fails: Bool = false) -> PromisedGift {
            PromisedGift(gift: Gift(identity: identity, object: object), route: route, fails: fails)
        }
        switch Int.random(in: 0..<14, using: &random.value) {
        case 10...13:
            let visitor = Gift(identity: 0, object: DistantObject(standingFor: node()))
            return made(0, object.visit.promise(sender, number, visitor, Int.random(in: 0..<3, using: &random.value)))
        case 0...3:
            let identity = identity()
            return made(identity, object.make.promise(sender, number, identity, pauses))
        case 4, 5: return made(0, object.fetch.promise(sender, number, pauses))
        case 6, 7:
            let own = node()
            let gift = Gift(identity: own.identity, object: DistantObject(standingFor: own))
            return made(own.identity, object.home.promise(sender, number, gift, pauses))
        case 8:
            guard let argument else { return made(0, object.fail.promise(sender, number), fails: true) }
            return made(
                argument.gift.identity, object.home.promise(sender, number, argument.gift, pauses),
                fails: argument.fails)
        default: return made(0, object.think.promise(sender, number, pauses), fails: true)
        }
    }

    /// Waits for a promise's object, and sends it messages, which start after what was sent to the promise.
    private func resolve(_ promise: PromisedGift) async throws -> Gift? {
        let gift = Gift(identity: promise.gift.identity, object: try await promise.gift.object.resolved())
        check(gift)
        for _ in 0..<Int.random(in: 0..<3, using: &random.value) {
            let _: Int = try await gift.object.answer(promise.route, next(promise.route))
        }
        try await identify(gift)
        return gift.object.connection == nil ? nil : gift
    }

    /// An attempt to get an answer from a promise.
    private func attempt(_ promise: PromisedGift, _ body: () async throws -> Void) async {
        await attempt {
            try await body()
            if promise.fails { complain("a message to a promise that fails was answered") }
        }
    }
}
