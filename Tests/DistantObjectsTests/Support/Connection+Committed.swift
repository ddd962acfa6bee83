@testable import DistantObjects

extension Connection {
    /// The calls and promises that are committed and not answered.
    ///
    /// A committed one has its place among the frames, which are written in that order. `statistics.questions` also counts those
    /// that only have a place in the table, and whose frame may never exist.
    var committedCalls: Int {
        state.withLock { state in
            var count = 0
            for index in state.questions.table.slots.indices where state.questions.table.slots[index].phase == .sent {
                count += 1
            }
            return count
        }
    }
}
