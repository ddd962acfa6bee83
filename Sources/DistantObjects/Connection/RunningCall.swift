/// A call of the peer and the task that serves it, or did.
struct RunningCall {
    private let task: ServingTask
    private let number: UInt64

    init(_ call: InboundCall, in task: ServingTask) {
        self.task = task
        number = call.number
    }

    func cancel() { task.cancel(number) }
}
