#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The lines that an earlier run has printed.
struct EarlierRun {
    private struct Row: Decodable {
        var work: String
        var peer: String?
        var via: String?
        var transport: String?
        var api: String?
        var cores: String
        var metric: String
        var value: Double?
        var least: Double?
        var most: Double?
        var ratio: Double?
        var spin: Bool?

        /// As of a `Line`.
        var subject: [String] {
            [work] + [peer, via, transport, api].compactMap { $0 } + [cores, metric] + (spin == true ? ["polling"] : [])
        }
    }

    private let rows: [[String]: Row]

    /// - Throws: `BenchError` if the file cannot be read, or a line of it is none of this program.
    init(_ file: String) throws {
        guard let text = try? String(contentsOfFile: file, encoding: .utf8) else {
            throw BenchError("\(file) cannot be read")
        }
        var rows: [[String]: Row] = [:]
        for (number, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            if line.isEmpty { continue }
            guard let row = try? JSONDecoder().decode(Row.self, from: Data(line.utf8)) else {
                throw BenchError("\(file), line \(number + 1), is no line that distant-bench has printed")
            }
            rows[row.subject] = row
        }
        self.rows = rows
    }

    /// Prints for each line that both runs have how far it has changed, with the spread of both over their rounds.
    ///
    /// What changed is the ratio to the floor, if there is one: the speed of the machine is in both.
    func compare(_ lines: [Line]) {
        for line in lines {
            guard let row = rows[line.subject], let value = row.value, let least = row.least, let most = row.most else {
                continue
            }
            let now = line.floor.map { line.value.median / $0 } ?? line.value.median
            let before = line.floor == nil ? value : row.ratio ?? value
            let overlaps = line.value.least <= most && least <= line.value.most
            put(
                "\(line.subject.joined(separator: " ")): \(Line.number(now / before)) times; "
                    + "\(Line.number(value)) (\(Line.number(least)) to \(Line.number(most))) before, "
                    + "\(Line.number(line.value.median)) (\(Line.number(line.value.least)) to "
                    + "\(Line.number(line.value.most))) now\(overlaps ? "" : ", apart")")
        }
    }
}
