import KeyedArchive
import PortTransport
import Synchronization

/// The task that reads a sequence for the peer, and its preferred executor.
///
/// The executor passes each job to the connection's loop. When a job is over, the source has suspended or ended, and the
/// elements it has given so far are written. So a source that does not suspend costs few frames, and one that does is not
/// delayed. One that computes for long without a suspension is not either: the loop tells when another thread takes it over.
final class StreamProducer: TaskExecutor, JobRunner, @unchecked Sendable {
    // `batch` has its own lock, which is taken before the connection's. `task` is written once, under the connection's lock.

    /// Elements that are encoded and not written.
    struct Batch: ~Copyable {
        var message: OutboundMessage?
        var count = 0
        /// The number of elements that the batch may have.
        var allowance = 0
        /// Whether its archive is finished, so that it has to be written before another element is encoded.
        var isComplete = false
        /// Why it could not be written at the end of a job.
        var failure: (any Error)?
    }

    /// What a batch may have before it is written.
    private static let mostItems = 256
    private static let mostBytes = 32 << 10
    /// With more, the references of the next element may be too many for one frame.
    private static let mostReferences = 128
    /// How long a job that computes for long keeps an element.
    private static let longestWait = Duration.milliseconds(1)

    let connection: Connection
    let outbox: StreamOutbox
    let batch = Mutex(Batch())
    /// The thread that runs a job of the task; 0 between jobs.
    private let thread = Atomic<UInt>(0)
    /// When a job that computes for long has last written elements, by the loop's clock; 0 while the job has not taken long.
    private let lastWrite = Atomic<UInt64>(0)
    /// Whether the batch is to be written, by the thread that has it.
    private let wantsFlush = Atomic<Bool>(false)
    private var task: Task<Void, Never>?
    /// The sink with the elements, while the task runs.
    ///
    /// Only the task writes it.
    var rewriter: (any BatchRewriter)?

    init(_ connection: Connection, _ outbox: StreamOutbox) {
        self.connection = connection
        self.outbox = outbox
    }

    // MARK: The task

    func start(_ source: any ProducingSource) {
        let task = Task.detached(executorPreference: self) { await self.produce(source) }
        let isOver = connection.state.withLock { _ in
            self.task = task
            return outbox.stop != nil
        }
        if isOver { task.cancel() }
    }

    func cancel() { connection.state.withLock { _ in task }?.cancel() }

    @concurrent
    private func produce(_ source: any ProducingSource) async {
        do {
            let encodeFinal = try await source.produce(in: self)
            try await writeRest()
            try end(.result) { try encodeFinal($0) }
        } catch {
            await end(with: error)
        }
        source.dispose()
        rewriter = nil
        connection.channel.setNeedsFlush()
    }

    private func end(with error: any Error) async {
        // The elements before the error arrive before it.
        try? await writeRest()
        if error is CancellationError {
            return end(ConnectionError(.cancelled, "the stream stopped because it was cancelled", mayHaveRun: true))
        }
        let message = connection.coder.takeMessage()
        let status = connection.coder.encode(MethodFailure.from(error), of: "the stream", into: message)
        guard status == .thrown, isSendable(message) || connection.coder.encodeText(of: error, into: message) else {
            end(ConnectionError(.notEncodable, "the stream threw an error that cannot be sent", mayHaveRun: true))
            return connection.coder.recycle(message)
        }
        end(.thrown, with: message)
        connection.coder.recycle(message)
    }

    private func end(_ status: ReturnStatus, _ encode: (ObjectEncoder) throws -> Void) throws {
        let message = connection.coder.takeMessage()
        do {
            try encode(message.encoder)
            try message.finish()
            try connection.state.withLock { try $0.session.checkSize(of: message, connection) }
        } catch {
            end(
                ConnectionError(
                    .notEncodable, "the final value cannot be sent: \(sentence(for: error))", mayHaveRun: true))
            return connection.coder.recycle(message)
        }
        end(status, with: message)
        connection.coder.recycle(message)
    }

    private func end(_ status: ReturnStatus, with message: OutboundMessage) {
        connection.transition { state, actions in
            state.endStream(outbox, status, with: message, connection, &actions)
        }
    }

    private func end(_ error: ConnectionError) {
        connection.transition { state, actions in
            state.session.streams.end(outbox, error, &state.session.outbox, &actions)
        }
    }

    private func isSendable(_ message: OutboundMessage) -> Bool {
        (try? connection.state.withLock { try $0.session.checkSize(of: message, connection) }) != nil
    }

    // MARK: The executor

    func enqueue(_ job: consuming ExecutorJob) { connection.loop.enqueue(UnownedJob(job), by: self) }

    func run(_ job: UnownedJob) {
        thread.store(Self.currentThread, ordering: .relaxed)
        lastWrite.store(0, ordering: .relaxed)
        connection.asCurrent { job.runSynchronously(on: asUnownedTaskExecutor()) }
        thread.store(0, ordering: .relaxed)
        flush()
    }

    static var isTold: Bool { true }

    /// The job computes for long, so the elements that it has given are written now, and further ones after a millisecond at most.
    func wentOn() {
        lastWrite.store(connection.now, ordering: .relaxed)
        flush()
    }

    /// Whether the batch, to which an element was added, is to be written because the job computes for long.
    ///
    /// Else a timer sees to it, because the next element may take long.
    private func isDue(_ batch: borrowing Batch) -> Bool {
        let last = lastWrite.load(ordering: .relaxed)
        guard last > 0 else { return false }
        let now = connection.now
        guard now < last + Self.longestWait.nanoseconds else {
            lastWrite.store(now, ordering: .relaxed)
            return true
        }
        if batch.count == 1 { _ = connection.loop.addTimer(after: Self.longestWait) { self.flush() } }
        return false
    }

    private static var currentThread: UInt { UInt(bitPattern: ThreadState.current) }

    /// Whether the calling thread runs a job of the task, at whose end the batch is written.
    private var isInJob: Bool { thread.load(ordering: .relaxed) == Self.currentThread }

    // MARK: The batch

    /// Writes what is encoded.
    ///
    /// If another thread has the batch at this moment, that thread does so: at the end of its job, or by `flushIfWanted`.
    func flush() {
        wantsFlush.store(true, ordering: .sequentiallyConsistent)
        flushIfWanted()
    }

    /// Writes what is encoded, if another thread wanted to while the calling one had the batch.
    func flushIfWanted() {
        while wantsFlush.load(ordering: .sequentiallyConsistent) {
            let isWritten = batch.withLockIfAvailable { batch in
                wantsFlush.store(false, ordering: .sequentiallyConsistent)
                guard batch.count > 0 else { return false }
                do { return try write(&batch) } catch {
                    batch.failure = error
                    return false
                }
            }
            guard let isWritten else { return }
            if isWritten { connection.channel.setNeedsFlush() }
        }
    }

    /// Makes room for an element in the batch.
    ///
    /// - Returns: False if the element has to wait.
    func begin(_ batch: inout Batch) throws -> Bool {
        if let failure = batch.failure.take() { throw failure }
        if batch.count == 0 {
            if batch.allowance == 0 {
                batch.allowance = try connection.state.withLock { _ in try outbox.checkedAllowance() }
            }
            if batch.message == nil { batch.message = connection.coder.takeMessage() }
        }
        return batch.count < batch.allowance && !batch.isComplete
    }

    /// Writes the batch if it is full, after an element was added.
    func added(to batch: inout Batch) throws -> StreamOffer {
        guard let encoder = batch.message?.encoder else { return .full }
        guard
            batch.count == batch.allowance || batch.count >= Self.mostItems || encoder.byteCount >= Self.mostBytes
                || encoder.externalCount >= Self.mostReferences || !isInJob || isDue(batch)
        else { return .taken }
        if try write(&batch) { connection.channel.flush() }
        return batch.allowance == 0 || batch.isComplete ? .takenLast : .taken
    }

    /// Completes the batch and writes it.
    ///
    /// - Returns: False if the channel is full.
    /// - Throws: If the stream has ended, or if an element cannot be sent.
    private func write(_ batch: inout Batch) throws -> Bool {
        do {
            return try writeWhole(&batch)
        } catch let stop as StreamStopped {
            empty(&batch)
            throw stop.reason
        } catch {
            guard batch.count > 1 else {
                empty(&batch)
                throw error
            }
            try rewriter?.writeOneByOne(&batch)
            return true
        }
    }

    private func writeWhole(_ batch: inout Batch, evenIfFull: Bool = false) throws -> Bool {
        guard let message = batch.message, batch.count > 0 else { return true }
        if !batch.isComplete {
            do { try message.finish() } catch { throw ConnectionError.unsent(error, "the stream", position: nil) }
            batch.isComplete = true
        }
        let outcome = try connection.state.withLock { [count = batch.count] state -> ItemsOutcome in
            if message.mayBeTooLarge { try state.session.checkSize(of: message, connection) }
            return state.writeItems(count, in: message, of: outbox, connection, evenIfFull: evenIfFull)
        }
        switch outcome {
        case .written(let allowance): batch.allowance = allowance
        case .noRoom: return false
        case .stopped(let reason): throw StreamStopped(reason: reason)
        }
        empty(&batch)
        return true
    }

    /// Writes one element in a frame of its own.
    func writeAlone(_ batch: inout Batch, _ encode: (ObjectEncoder) throws -> Void) throws {
        empty(&batch)
        let message = connection.coder.takeMessage()
        batch.message = message
        batch.count = 1
        do {
            do {
                try encode(message.encoder)
            } catch {
                throw ConnectionError.unsent(error, "the stream", position: nil)
            }
            _ = try writeWhole(&batch, evenIfFull: true)
        } catch {
            empty(&batch)
            throw (error as? StreamStopped)?.reason ?? error
        }
    }

    func empty(_ batch: inout Batch) {
        if let message = batch.message.take() { connection.coder.recycle(message) }
        batch.count = 0
        batch.isComplete = false
    }

    // MARK: Waiting

    /// Waits until another element may be sent.
    func awaitRoom() async throws {
        while try !batch.withLock({ try hasRoom(&$0) }) { try await suspend() }
    }

    private func hasRoom(_ batch: inout Batch) throws -> Bool {
        if let failure = batch.failure.take() { throw failure }
        if batch.isComplete, try !write(&batch) { return false }
        if batch.count > 0 { return batch.count < batch.allowance }
        batch.allowance = try connection.state.withLock { _ in try outbox.checkedAllowance() }
        return batch.allowance > 0
    }

    /// Writes what is encoded, and waits until there is room for that.
    private func writeRest() async throws {
        while true {
            let isWritten = try batch.withLock { batch in
                if let failure = batch.failure.take() { throw failure }
                return try write(&batch)
            }
            if isWritten { return }
            try await suspend()
        }
    }

    private func suspend() async throws {
        try Task.checkCancellation()
        connection.channel.setNeedsFlush()
        await withTaskCancellationHandler {
            try? await withUnsafeThrowingContinuation { continuation in
                let waits = connection.state.withLock { state in
                    !Task.isCancelled && state.session.streams.hold(.task(continuation), for: outbox)
                }
                if !waits { continuation.resume() }
            }
        } onCancel: {
            connection.transition { state, actions in state.session.streams.wakeSenders(of: outbox, &actions) }
        }
    }

    /// Waits until another element may be sent, as `awaitRoom()`: blocks the calling thread.
    ///
    /// - Throws: `ConnectionError.deadlineExceeded`.
    func awaitRoomBlocking(within limit: Duration?) throws {
        let deadline = limit.map { Deadline(after: $0, at: connection.now) }
        while try !batch.withLock({ try hasRoom(&$0) }) {
            try connection.block(
                until: deadline, "there was no room for the element",
                hold: { $0.session.streams.hold($1, for: outbox) },
                withdraw: { _, call in outbox.waiters.removeAll { $0.isThread(in: call) } })
        }
    }
}

/// Why a stream must not go on.
private struct StreamStopped: Error {
    let reason: ConnectionError
}

/// Writes the elements of a batch again, each in a frame of its own, after they could not be written together.
protocol BatchRewriter: AnyObject {
    /// - Throws: For the first element that cannot be sent. Those behind it are dropped.
    func writeOneByOne(_ batch: inout StreamProducer.Batch) throws
}

/// A source that a producer can run.
protocol ProducingSource: StreamSource {
    /// Reads the sequence to its end.
    ///
    /// - Returns: What writes the final value.
    func produce(in producer: StreamProducer) async throws -> (ObjectEncoder) throws -> Void
}

extension StreamAction {
    /// Performs the action.
    func perform(on connection: Connection) {
        switch self {
        case .resume(let waiter): waiter.resume(on: connection.channel)
        case .start(let stream):
            guard let source = stream.source as? any ProducingSource else { return }
            let producer = StreamProducer(connection, stream)
            let isRunning = connection.state.withLock { _ in
                guard stream.life.isRunning else { return false }
                stream.producer = producer
                return true
            }
            if isRunning { producer.start(source) } else { source.dispose() }
        case .cancel(let stream):
            let producer = connection.state.withLock { _ in stream.producerToCancel() as? StreamProducer }
            producer?.cancel()
        case .flush(let stream): stream.producer(on: connection)?.flush()
        case .dispose(let source): source.dispose()
        }
    }
}

extension StreamOutbox {
    fileprivate func producer(on connection: Connection) -> StreamProducer? {
        connection.state.withLock { _ in producer as? StreamProducer }
    }
}
