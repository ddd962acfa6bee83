import Testing

@testable import DistantObjects

@Suite("Progress of a serving task")
struct ServingProgressTests {
    @Test("Only the call that is being served can be cancelled, not an earlier one")
    func cancelInServingProgress() {
        let task = Task<Void, Never> {}
        var progress = ServingProgress()
        let idle = progress.cancel(1)
        progress.take(1)
        let isCancelled = progress.started(task)
        let goesOn = progress.answered()
        #expect(idle == nil && !isCancelled && goesOn)
        progress.take(2)
        let (earlier, own, again) = (progress.cancel(1), progress.cancel(2), progress.cancel(2))
        #expect(earlier == nil && own == task && again == nil)
        let servesOthers = progress.answered()
        #expect(!servesOthers)
    }

    @Test("A call that is cancelled before its task exists cancels the task later")
    func cancelledEarly() {
        var progress = ServingProgress()
        progress.take(1)
        let task = progress.cancel(1)
        let isCancelled = progress.started(Task {})
        #expect(task == nil && isCancelled)
    }

    @Test("A serving task that has ended does not store a task")
    func over() {
        var progress = ServingProgress()
        progress.take(1)
        let goesOn = progress.answered()
        progress.end()
        let isCancelled = progress.started(Task {})
        let task = progress.cancel(1)
        #expect(goesOn && !isCancelled && task == nil)
    }
}
