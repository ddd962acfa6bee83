import KeyedArchive
@_spi(Queues) import PortTransport

// The window for large messages, while messages that take its room wait for something that needs messages to come for
// which there is no room.
extension Conversation {
    /// Enters a message whose fragments follow.
    mutating func begin(_ partial: PartialMessage, _ frame: borrowing InboundFrame) {
        partials[frame.number] = partial
        laidAside.begin(partial)
    }

    /// Gives room in the window back early, if the window is too short for the messages that are arriving.
    ///
    /// The room is that of messages that have come and wait, which are then laid aside. Together with the small
    /// messages that wait, the messages laid aside keep at most the bytes of `ConnectionLimits.waitingBytes`, or are a
    /// single message. The others stay in the window.
    @inline(__always)
    mutating func makeRoom(_ actions: inout [Action<Host>]) {
        if laidAside.isShort(settings.window) { layAside(&actions) }
    }

    @inline(never)
    private mutating func layAside(_ actions: inout [Action<Host>]) {
        let target = onlyTarget
        var largeBytes = 0
        let small = waiting.calls + waiting.oneWays
        laidAside.makeRoom(
            in: settings.window, keeping: max(0, limits.waitingBytes - small),
            mayLay: { message in
                // If all messages that are arriving are for the object of this one, they would only wait behind it.
                if let target, case .call(let export) = message.purpose { return export !== target }
                return true
            },
            giveBack: { largeBytes += $0 })
        waiting.laidAside = laidAside.kept
        giveBack(largeBytes, &actions)
        if laidAside.isBlocked, answerFlow.startTicking() { actions.append(.startAnswerTimer) }
    }

    /// The object that all messages which are arriving are calls to; nil if there is no such object.
    private var onlyTarget: Export? {
        var target: Export?
        for partial in partials.values {
            guard case .call(let export) = partial.purpose, target == nil || export === target else { return nil }
            target = export
        }
        return target
    }

    /// Counts one tick of the time for which the window may be blocked, and refuses a message at the end of that time.
    mutating func checkWindow(_ actions: inout [Action<Host>]) {
        guard laidAside.isBlocked else { return }
        let ticks = laidAside.tick()
        makeRoom(&actions)
        guard laidAside.isBlocked else { return }
        laidAside.goOn(ticks)
        guard ticks > AnswerFlow.ticks, isRoomNeeded,
            let message = laidAside.firstWaiting(where: { waitsForOthers($0) })
        else { return }
        giveBack(message.takeLargeBytes(), &actions)
        refuse(message, &actions)
    }

    /// Whether anything waits for a message that is arriving.
    private var isRoomNeeded: Bool {
        partials.values.contains { partial in
            if case .stream(let stream) = partial.purpose { (stream as? StreamInbox)?.waiter != nil } else { true }
        }
    }

    /// Whether a message that has come waits for something else than its turn.
    private func waitsForOthers(_ message: PartialMessage) -> Bool {
        switch message.purpose {
        case .call(let export): KeptAnswer.isPending(export) || export.mailbox.waitsForAnswers
        case .stream: true
        case .reply, .refused: false
        }
    }

    private mutating func refuse(_ message: PartialMessage, _ actions: inout [Action<Host>]) {
        switch message.purpose {
        case .call: message.refuse()
        case .stream(let stream):
            guard let inbox = stream as? StreamInbox else { return }
            let error = ConnectionError(
                .overloaded,
                "items that are not read take more than \(limits.waitingBytes) bytes, and other messages wait for their room",
                context: "the stream")
            streams.stopReading(inbox, error, &outbox, &actions)
        case .reply, .refused: break
        }
    }
}
