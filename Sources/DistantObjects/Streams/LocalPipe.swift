import Dispatch
@_spi(Queues) import PortTransport
import Synchronization

/// A stream that is read in the process that made it.
final class LocalPipe<Element: Codable & Sendable>: StreamSink<Element>, @unchecked Sendable {
    // All that changes is in `state`, under its lock.

    /// The elements that a fast source may be ahead.
    private static var capacity: Int { 64 }

    private enum Phase {
        case open
        /// The source has ended, with its final value or an error. The elements before it may not be read.
        case ended(Result<any Sendable, any Error>)
        /// The reader has stopped.
        case stopped
    }

    private enum Waiter: Sendable {
        case task(UnsafeContinuation<Void, Never>)
        case thread(DispatchSemaphore)

        func resume() {
            switch self {
            case .task(let continuation): continuation.resume()
            case .thread(let semaphore): semaphore.signal()
            }
        }
    }

    private struct State: ~Copyable {
        var phase = Phase.open
        var elements = Ring<Element>()
        /// Sources and readers that wait, each of which checks again what it waits for.
        var waiters: [Waiter] = []
        var task: Task<Void, Never>?
        /// Counts the changes, so that none is missed between a check and the wait.
        var version = 0
        /// Whether the reader has seen the end.
        var isRead = false
    }

    private struct Taken: Sendable {
        /// Nil at the end.
        let element: Element?
    }

    private let state = Mutex(State())

    /// Starts the source.
    func start(_ source: @escaping @Sendable (LocalPipe<Element>) async throws -> any Sendable) {
        let task = Task {
            let outcome: Result<any Sendable, any Error>
            do { outcome = .success(try await source(self)) } catch { outcome = .failure(error) }
            change { state in
                state.task = nil
                if case .open = state.phase { state.phase = .ended(outcome) }
            }
        }
        state.withLock { state in
            if case .open = state.phase { state.task = task }
        }
    }

    // MARK: The source

    override func offer(_ element: Element) throws -> StreamOffer {
        try change { state in
            guard case .open = state.phase else {
                throw ConnectionError(.cancelled, "the reader of the stream has stopped")
            }
            guard state.elements.count < Self.capacity else { return .full }
            state.elements.append(element)
            return state.elements.count == Self.capacity ? .takenLast : .taken
        }
    }

    override func awaitRoom() async throws {
        try await wait(for: Self.room)
    }

    override func awaitRoomBlocking(within limit: Duration?) throws {
        try waitBlocking(until: limit.map { DispatchTime(after: $0) }, for: Self.room)
    }

    private static func room(_ state: inout State) throws -> Void? {
        guard case .open = state.phase else {
            throw ConnectionError(.cancelled, "the reader of the stream has stopped")
        }
        return state.elements.count < capacity ? () : nil
    }

    // MARK: The reader

    func next() async throws -> Element? {
        do {
            let taken = try await wait(for: Self.take)
            change { _ in }
            return taken.element
        } catch {
            change { _ in }
            if error is CancellationError { stop() }
            throw error
        }
    }

    /// The next element, as `next()`: blocks the calling thread.
    func nextBlocking(until end: DispatchTime?) throws -> Element? {
        defer { change { _ in } }
        return try waitBlocking(until: end, for: Self.take).element
    }

    private static func take(_ state: inout State) throws -> Taken? {
        if let element = state.elements.popFirst() { return Taken(element: element) }
        switch state.phase {
        case .open: return nil
        case .stopped: return Taken(element: nil)
        case .ended(let outcome):
            let isRead = state.isRead
            state.isRead = true
            if !isRead { _ = try outcome.get() }
            return Taken(element: nil)
        }
    }

    /// The final value, once the reader has seen the end.
    func final() async throws -> any Sendable { try await wait(for: Self.finalValue) }

    /// The final value, as `final()`: blocks the calling thread.
    func finalBlocking(until end: DispatchTime?) throws -> any Sendable {
        try waitBlocking(until: end, for: Self.finalValue)
    }

    private static func finalValue(_ state: inout State) throws -> (any Sendable)? {
        switch state.phase {
        case .open: return nil
        case .ended(let outcome): return state.isRead ? try outcome.get() : nil
        case .stopped: throw ConnectionError(.cancelled, "the stream was not read to its end")
        }
    }

    /// Stops reading.
    func stop() {
        let task = change { (state: inout State) -> Task<Void, Never>? in
            switch state.phase {
            case .ended where state.isRead, .stopped: return nil
            case .open, .ended:
                state.phase = .stopped
                return state.task.take()
            }
        }
        task?.cancel()
    }

    // MARK: Waiting

    /// Changes the state, and has all that wait check again.
    @discardableResult
    private func change<Value: Sendable>(_ body: (inout State) throws -> Value) rethrows -> Value {
        let changed = try state.withLock { state -> Changed<Value> in
            let value = try body(&state)
            state.version += 1
            defer { state.waiters = [] }
            // Released without the lock, because that may run user code.
            guard case .stopped = state.phase else { return Changed(value: value, waiters: state.waiters, dropped: []) }
            return Changed(value: value, waiters: state.waiters, dropped: state.elements.removeAll())
        }
        for waiter in changed.waiters { waiter.resume() }
        return changed.value
    }

    private struct Changed<Value: Sendable>: Sendable {
        let value: Value
        let waiters: [Waiter]
        let dropped: [Element]
    }

    /// Waits until the closure returns a value.
    private func wait<Value: Sendable>(for poll: (inout State) throws -> Value?) async throws -> Value {
        while true {
            let (value, version) = try state.withLock { (try poll(&$0), $0.version) }
            if let value { return value }
            try Task.checkCancellation()
            await withTaskCancellationHandler {
                await withUnsafeContinuation { continuation in
                    let waits = state.withLock { state in
                        guard state.version == version, !Task.isCancelled else { return false }
                        state.waiters.append(.task(continuation))
                        return true
                    }
                    if !waits { continuation.resume() }
                }
            } onCancel: {
                change { _ in }
            }
        }
    }

    /// Waits as `wait(for:)` does, and blocks the calling thread.
    ///
    /// - Throws: What `poll` throws; `ConnectionError.deadlineExceeded`.
    private func waitBlocking<Value: Sendable>(
        until end: DispatchTime?, for poll: (inout State) throws -> Value?
    ) throws -> Value {
        while true {
            let (value, version) = try state.withLock { (try poll(&$0), $0.version) }
            if let value { return value }
            let semaphore = DispatchSemaphore(value: 0)
            let waits = state.withLock { state in
                guard state.version == version else { return false }
                state.waiters.append(.thread(semaphore))
                return true
            }
            guard waits, semaphore.wait(timeout: end ?? .distantFuture) == .timedOut else { continue }
            // This removes the waiter, and has the others check again.
            change { _ in }
            throw ConnectionError(.deadlineExceeded, "the stream did not go on in time")
        }
    }
}

extension DispatchTime {
    /// The time after a duration from now.
    init(after limit: Duration) {
        let (sum, isFar) = DispatchTime.now().uptimeNanoseconds.addingReportingOverflow(limit.nanoseconds)
        self = isFar ? .distantFuture : DispatchTime(uptimeNanoseconds: sum)
    }
}
