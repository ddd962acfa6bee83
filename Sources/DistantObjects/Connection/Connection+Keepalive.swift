import PortTransport
import Synchronization

// For links that break without a word: nothing tells of their end but silence.
extension Connection {
    /// How many times in a row the peer may be silent.
    private static let silences = 3

    /// Looks after each interval whether anything came, once the handshake is over; until the connection has ended.
    func keepAlive() {
        guard let interval = configuration.keepalive, interval > .zero else { return }
        listen(interval, seen: channel.framesReceived, silences: 0)
    }

    /// Looks once after the interval, and goes on.
    ///
    /// The peer is asked after the first silence. So a process that was stopped for a while, and sees the time gone, waits for
    /// an answer before it judges.
    private func listen(_ interval: Duration, seen: UInt64, silences: Int) {
        // Not the connection itself: a timer that always waits would hold one that nobody else does.
        let timer = loop.addTimer(after: interval) { [channel] in
            (channel.handler as? Connection)?.look(interval, seen: seen, silences: silences)
        }
        let isOver = life.withLock { life in
            life.keepaliveTimer = timer
            return life.end != nil
        }
        if isOver { loop.cancelTimer(timer) }
    }

    private func look(_ interval: Duration, seen: UInt64, silences: Int) {
        let received = channel.framesReceived
        guard received == seen else { return listen(interval, seen: received, silences: 0) }
        guard silences + 1 < Self.silences else { return fallSilent(after: interval * Self.silences) }
        state.withLock { state in
            guard state.ending.verdict == nil, !state.ending.saidGoodbye else { return }
            state.writeControl(.ping, ControlWait())
        }
        channel.setNeedsFlush()
        listen(interval, seen: received, silences: silences + 1)
    }

    private func fallSilent(after time: Duration) {
        let silence = ConnectionError(.deadlineExceeded, "the peer has sent nothing for \(time)", context: name)
        life.withLock { life in
            if life.decision == nil { life.decision = .failed(silence) }
        }
        channel.cancel(.byThisSide)
    }
}
