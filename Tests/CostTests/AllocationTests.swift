import Foundation
import TestSupport
import Testing

/// The number of allocations of calls and archives, and the memory of an idle connection.
///
/// Unlike their time, it is the same on every machine.
@Suite("Allocations of calls and archives")
struct AllocationTests {
    /// The fewest blocks a work can take, so that it is seen whether they are counted, and the most it may, on both
    /// ends together.
    private static let budgets: [String: ClosedRange<Double>] = [
        // The call as it waits for its turn, and the answer for its caller; now and then a buffer they lie in.
        "call": 2...2.5,
        // The task rests between two calls; its frames come from its own memory.
        "call-of-task": 2...4.5,
        // Both of these calls, and the caller's proxy, which the other side gives back.
        "callback": 4...14,
        // The tables of a message with classes, and the object.
        "object": 3...5.5,
        // The message as it waits.
        "one-way": 1...1.5,
        // Bytes and not blocks: the two ends, with what one call has left in their tables.
        "idle-connection": 2_000...4_400,
        // Nothing for each object but room that doubles.
        "archive-object": 0...0.02,
        // The object itself.
        "unarchive-object": 1...1.02,
    ]

    #if DEBUG
        private static let isOptimised = false
    #else
        private static let isOptimised = true
    #endif

    #if canImport(Glibc)
        private static let isCounted = !Sanitizer.isActive
    #else
        private static let isCounted = false
    #endif

    /// What a program prints.
    private static func output(of program: String) throws -> String {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: try builtProgram(program))
        let pipe = Pipe()
        process.standardOutput = pipe
        try process.run()
        let output = try pipe.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        try #require(process.terminationReason == .exit && process.terminationStatus == 0)
        return String(decoding: output, as: UTF8.self)
    }

    @Test(
        "The number of allocations stays within the budget",
        .enabled(if: isOptimised, "without the optimiser everything takes more"),
        .enabled(if: isCounted, "blocks are counted with glibc alone, and not where a sanitizer hands them out"))
    func budgets() throws {
        var least: [String: Double] = [:]
        // On a busy machine a call may need another thread, which takes blocks of its own: the least of some runs counts.
        for _ in 0..<20 where least.isEmpty || Self.budgets.contains(where: { least[$0] ?? 0 > $1.upperBound }) {
            let output = try Self.output(of: "allocation-count")
            #expect(output != "not counted\n")
            for line in output.split(separator: "\n") {
                let words = line.split(separator: " ")
                guard words.count == 2, let count = Double(words[1]) else { continue }
                least[String(words[0]), default: count] = min(least[String(words[0]), default: count], count)
            }
        }
        for (work, budget) in Self.budgets {
            let count = try #require(least[work], "\(work)")
            #expect(budget.contains(count), "\(work) takes \(count)")
        }
    }
}
