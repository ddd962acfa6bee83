import PortTransport
import Synchronization

extension Connection {
    /// Runs a transition, then does what it wants done.
    func transition<Result: Sendable>(
        onLoop: Bool = false,
        _ body: (inout PortState<Connection>, inout [Action<Connection>]) -> Result
    ) -> Result {
        let done = state.withLock { state in
            var actions: [Action<Connection>] = []
            let result = body(&state, &actions)
            return Transition(actions: actions, result: result)
        }
        let result = done.result
        if !done.actions.isEmpty { perform(done.actions, onLoop: onLoop) }
        return result
    }

    /// Does what transitions of the state want done, with no lock held.
    ///
    /// - Parameter onLoop: The calling thread is the loop's: events run where they stand among the rest. Else all code of the
    ///   user's is handed over, in one step, once the rest is done.
    @inline(__always)
    func perform(_ actions: consuming Actions<Connection>, onLoop: Bool) {
        guard !actions.isEmpty else { return }
        actions.perform(
            answer: { waiter, reply in waiter.complete(with: reply, self) },
            others: { rest in perform(rest, onLoop: onLoop) })
    }

    /// As `perform(_:onLoop:)`, without answers.
    @inline(never)
    func perform(_ actions: consuming [Action<Connection>], onLoop: Bool) {
        var userWork = performOwn(consume actions, onLoop: onLoop)
        if !userWork.isEmpty { hand(&userWork, onLoop: onLoop) }
    }

    /// A function of its own: when it returns, nothing but its result refers to what the user's code will let go.
    @inline(never)
    private func performOwn(_ actions: consuming [Action<Connection>], onLoop: Bool) -> [Action<Connection>] {
        var userWork: [Action<Connection>] = []
        // Taken out one by one: copies count what they hold.
        var rest = consume actions
        rest.reverse()
        while let action = rest.popLast() {
            switch action {
            case .event where onLoop:
                var event = [action]
                hand(&event, onLoop: true)
            case .discard(let reply):
                if reply.bulk > 0 { consumed(bulk: reply.bulk) }
                if let tables = reply.tables { userWork.append(.release(tables)) }
            case _ where action.runsUserCode:
                userWork.append(action)
            default:
                perform(action)
            }
        }
        return userWork
    }

    private func perform(_ action: Action<Connection>) {
        switch action {
        case .fail(let waiter, let error):
            waiter.complete(.failure(error), self)
        case .oneWay(let waiter, let error):
            waiter.complete(error, self)
        case .pong(let continuation, nil):
            continuation.resume()
        case .pong(let continuation, let error?):
            continuation.resume(throwing: error)
        case .discard(let reply):
            if reply.bulk > 0 { consumed(bulk: reply.bulk) }
        case .recycle(let message):
            coder.recycle(message)
        case .release, .unexport:
            break
        case .cancel(let call):
            call.cancel()
        case .abort(let number):
            channel.abort(number)
        case .cancelTimer(let token):
            loop.cancelTimer(token)
        case .event(let event):
            report(event)
        case .decideOnPeer(let name):
            decideOnPeer(calledBy: name)
        case .peerSaidGoodbye:
            peerSaidGoodbye()
        case .closeIfIdle:
            finishClosingIfIdle()
        case .flush:
            channel.setNeedsFlush()
        case .awaitAnswers(let count):
            channel.tellWhenAnswers(areAtMost: count)
        case .startAnswerTimer:
            _ = loop.addTimer(after: configuration.limits.answerPatience / AnswerFlow.ticks) { [weak self] in
                self?.answersTick()
            }
        case .releaseFreeMemory:
            loop.perform { self.releaseFreeMemory() }
        case .endRoots:
            roots.end()
        case .ended(let end):
            tell(end)
        }
    }

    /// Has the user's code run on the loop, after all that was handed over before.
    ///
    /// - Parameter onLoop: It may run now, on the calling thread.
    func hand(_ work: inout [Action<Connection>], onLoop: Bool) {
        guard userWork.withLock({ $0.add(&work) }) else { return }
        if onLoop { runUserWork() } else { loop.perform { self.runUserWork() } }
    }

    /// Tells of an event that was found outside the loop, or by a method whose thread may not be the loop's any more.
    func reportOnLoop(_ event: ConnectionEvent) {
        guard configuration.onEvent != nil else { return }
        var work = [Action<Connection>.event(event)]
        hand(&work, onLoop: false)
    }

    private func runUserWork() {
        while let piece = userWork.withLock({ $0.next() }) { perform(piece) }
    }
}

/// What a transition gives.
private struct Transition<Result: Sendable>: Sendable {
    let actions: [Action<Connection>]
    let result: Result
}
