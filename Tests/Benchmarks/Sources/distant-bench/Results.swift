/// What was measured, in the order in which it was first measured.
final class Results {
    /// One line for each subject, with the medians over the passes once all are finished.
    private(set) var lines: [Line] = []
    private var samples: [[String]: [Line]] = [:]
    private let printsAtOnce: Bool

    /// - Parameter printsAtOnce: Whether there is one pass only, so that each line is final.
    init(printsAtOnce: Bool) {
        self.printsAtOnce = printsAtOnce
    }

    func add(_ line: Line) {
        if samples[line.subject] == nil { lines.append(line) }
        samples[line.subject, default: []].append(line)
        if printsAtOnce { line.print() }
    }

    /// Replaces the figures of each line by the medians over all passes, and prints the lines if that is not done yet.
    func finish() {
        for (index, line) in lines.enumerated() {
            let all = samples[line.subject] ?? []
            lines[index].value = Figure(all.map(\.value))
            let known = all.compactMap(\.floor)
            lines[index].floor = known.isEmpty ? nil : median(known)
        }
        for (index, line) in lines.enumerated() {
            if line.peer != nil { lines[index].floor = floor(of: line) }
            if !printsAtOnce { lines[index].print() }
        }
    }

    /// Returns the floor of the work of another library's program: the one that this library is compared with.
    private func floor(of line: Line) -> Double? {
        lines.first {
            $0.peer == nil && $0.work == line.work && $0.cores == line.cores && $0.transport == .socket && !$0.spins
        }?.floor
    }
}
