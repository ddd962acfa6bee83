import PortTransport
import Synchronization

extension Connection {
    /// Runs a transition under the lock, then performs its actions.
    func transition<Result: Sendable>(
        onLoop: Bool = false,
        _ body: (inout Conversation<Connection>, inout [Action<Connection>]) -> Result
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

    /// Performs the actions of transitions, without the lock.
    ///
    /// - Parameter onLoop: Whether this is the loop's thread. If so, events are delivered in their place among the actions.
    ///   Else all user code is added to `userWork` in one step, after the other actions.
    @inline(__always)
    func perform(_ actions: consuming Actions<Connection>, onLoop: Bool) {
        guard !actions.isEmpty else { return }
        actions.perform(
            answer: { waiter, reply in waiter.complete(with: reply, self) },
            others: { rest in perform(rest, onLoop: onLoop) })
    }

    /// Performs actions without answers.
    @inline(never)
    func perform(_ actions: consuming [Action<Connection>], onLoop: Bool) {
        var work = performLibraryWork(of: consume actions, onLoop: onLoop)
        if !work.isEmpty { addUserWork(&work, onLoop: onLoop) }
    }

    /// Performs the actions that run no user code.
    ///
    /// It is a separate function so that, when it returns, only its result refers to the objects that user code will release.
    ///
    /// - Returns: The actions that run user code.
    @inline(never)
    private func performLibraryWork(
        of actions: consuming [Action<Connection>], onLoop: Bool
    ) -> [Action<Connection>] {
        var userWork: [Action<Connection>] = []
        // The actions are removed one by one, because copies would retain their objects.
        var rest = consume actions
        rest.reverse()
        while let action = rest.popLast() {
            switch action {
            case .event where onLoop:
                var event = [action]
                addUserWork(&event, onLoop: true)
            case .discard(let reply):
                if reply.largeBytes > 0 { consumed(largeBytes: reply.largeBytes) }
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
            if reply.largeBytes > 0 { consumed(largeBytes: reply.largeBytes) }
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
        case .stream(let action):
            perform(action)
        case .flush:
            channel.setNeedsFlush()
        case .awaitAnswers(let count):
            channel.notifyWhenAnswers(areAtMost: count)
        case .startAnswerTimer:
            _ = loop.addTimer(after: settings.conversation.limits.answerPatience / AnswerFlow.ticks) { [weak self] in
                self?.answersTick()
            }
        case .watchBlobs:
            watchBlobs()
        case .releaseFreeMemory:
            loop.perform { self.releaseFreeMemory() }
        case .endRoots:
            roots.end()
        case .ended(let end):
            reportEnd(end)
        }
    }

    /// Adds actions that run user code to the queue, and arranges that the loop runs them.
    ///
    /// - Parameter onLoop: Whether they may run now, on the calling thread.
    func addUserWork(_ work: inout [Action<Connection>], onLoop: Bool) {
        guard userWork.withLock({ $0.add(&work) }) else { return }
        if onLoop { runUserWork() } else { loop.perform { self.runUserWork() } }
    }

    /// Reports an event on the loop, from any thread.
    func reportOnLoop(_ event: ConnectionEvent) {
        guard settings.onEvent != nil else { return }
        var work = [Action<Connection>.event(event)]
        addUserWork(&work, onLoop: false)
    }

    private func runUserWork() {
        while let piece = userWork.withLock({ $0.next() }) { perform(piece) }
    }
}

/// The result of a transition and its actions.
private struct Transition<Result: Sendable>: Sendable {
    let actions: [Action<Connection>]
    let result: Result
}
