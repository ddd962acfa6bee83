import Testing

@testable import DistantObjects

@Suite("Tasks that call over a connection")
struct CallingTasksTests {
    /// Has tasks call in turn, so many calls in all, and returns how many of them might wait.
    private func waits(_ tasks: Int, calls: Int, open: UInt32 = 1, _ callers: inout CallingTasks) -> Int {
        (0..<calls).count { callers.mayWait(open: open, task: UInt(1_000 + $0 % tasks) << 10) }
    }

    @Test(
        "Each of a few tasks suspends once in a round, and waits for about a thousand calls after it", arguments: 1...8)
    func few(tasks: Int) {
        var callers = CallingTasks()
        // There are ten rounds.
        #expect(waits(tasks, calls: 10_000, &callers) == 10_000 - 10 * tasks)
    }

    @Test("None of many tasks waits, until few are left")
    func manyInCallingTasks() {
        var callers = CallingTasks()
        #expect(waits(9, calls: 10_000, &callers) == 0)
        #expect(waits(1, calls: 2_000, &callers) > 900)
        #expect(waits(64, calls: 2_000, &callers) < 1_024)
        #expect(waits(64, calls: 10_000, &callers) == 0)
    }

    @Test("Many tasks are noticed once in a thousand calls, few never")
    func noticed() {
        var callers = CallingTasks()
        let noticed = (0..<10_000).count {
            _ = callers.mayWait(open: 1, task: UInt(1_000 + $0 % 64) << 10)
            return callers.endedAsMany
        }
        #expect(noticed == 10)
        for call in 0..<10_000 {
            _ = callers.mayWait(open: 1, task: UInt(call % 2) << 10)
            #expect(!callers.endedAsMany || call < 9)
        }
    }

    @Test("No task waits while many calls are open")
    func manyOpen() {
        var callers = CallingTasks()
        #expect(waits(1, calls: 100, open: 9, &callers) == 0)
        #expect(waits(1, calls: 100, open: 8, &callers) == 100)
    }

    @Test("Tasks that call once each are many")
    func onceInCallingTasks() {
        var callers = CallingTasks()
        let waits = (0..<10_000).count { callers.mayWait(open: 1, task: UInt(1_000 + $0) << 10) }
        #expect(waits == 0)
    }
}
