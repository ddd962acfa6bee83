import DistantObjects
import Foundation
import KeyedArchive

/// A list of user objects as long as `ArchiveLimits.chain` allows, and one with one object more.
struct ChainSamples {
    func measure(_ bench: ArchiveBench) throws {
        let longest = ArchiveLimits().chain
        for format in [ArchiveFormat.compact, .binary] {
            let list = ListNode.list(longest + 1)
            var start = processorTime()
            let bytes = try KeyedArchiver.archive(list, format: format)
            line("chain-write", format, Double(processorTime() - start) / Double(longest + 1))
            start = processorTime()
            let copy = try KeyedUnarchiver.unarchive(ListNode?.self, from: bytes)
            line("chain-read", format, Double(processorTime() - start) / Double(longest + 1))
            guard copy?.number == longest else { throw BenchError("the list has another length") }
            do {
                let beyond = try KeyedArchiver.archive(ListNode.list(longest + 2), format: format)
                _ = try KeyedUnarchiver.unarchive(ListNode?.self, from: beyond)
                throw BenchError("a list beyond ArchiveLimits.chain was taken")
            } catch let error as ArchiveError where error.code == .limit {
                ArchiveLine(work: "chain-beyond", format: "\(format)", metric: "thrown", value: 1).print()
            }
        }
    }

    private func line(_ work: String, _ format: ArchiveFormat, _ value: Double) {
        ArchiveLine(work: work, format: "\(format)", metric: "ns_per_object", value: value).print()
    }
}
