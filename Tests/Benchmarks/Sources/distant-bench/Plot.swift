#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// A drawing of the results beside the programs of other libraries: bars on a logarithmic scale, as SVG.
struct Plot {
    private struct Group {
        var title: String
        var metric: String
        var bars: [Bar] = []
    }

    private struct Bar {
        var name: String
        var value: Double
        var isOurs: Bool
    }

    private static let barHeight = 16.0
    private static let labelWidth = 250.0
    private static let barsWidth = 480.0
    private var groups: [Group] = []

    init(_ lines: [Line]) {
        for line in lines where Self.isDrawn(line) {
            let title = "\(line.work.rawValue), \(line.cores == .one ? "one core" : "free placement")"
            if groups.last?.title != title, !groups.contains(where: { $0.title == title }) {
                groups.append(Group(title: title, metric: Self.unit(line.metric)))
            }
            guard let index = groups.firstIndex(where: { $0.title == title }) else { continue }
            let name =
                line.peer ?? (line.via == "floor" ? "bare system calls" : "Distant Objects, \(line.api.rawValue)")
            groups[index].bars.append(Bar(name: name, value: line.value.median, isOurs: line.peer == nil))
        }
        groups.sort { $0.metric > $1.metric }
    }

    /// The rows over the socket, in the works that other programs do, too.
    private static func isDrawn(_ line: Line) -> Bool {
        switch line.work {
        case .nullCall, .callback, .graph100, .graph10000, .graphView10000, .inFlight64, .oneWay, .blob1MiB, .blob64MiB:
            line.transport == .socket && line.via != "typed" && !line.spins && line.cores != .two
        default: false
        }
    }

    private static func unit(_ metric: String) -> String {
        switch metric {
        case "p50_us": "µs, less is better"
        case "GB_per_s": "GB/s, more is better"
        case "calls_per_s": "calls/s, more is better"
        default: "messages/s, more is better"
        }
    }

    func write(to path: String) throws {
        guard let file = fopen(path, "w") else { throw BenchError("\(path) cannot be written: \(describe(errno))") }
        let text = svg
        let isWritten = fputs(text, file) >= 0
        guard fclose(file) == 0, isWritten else { throw BenchError("\(path) cannot be written: \(describe(errno))") }
    }

    private var svg: String {
        var body = ""
        var y = 10.0
        for group in groups {
            y += 20
            body += Self.text(x: 10, y: y, "\(group.title) (\(group.metric))", isBold: true)
            let values = group.bars.map(\.value).filter { $0 > 0 }
            guard let least = values.min(), let most = values.max() else { continue }
            // The shortest bar keeps a tenth of the width, so that it is seen.
            let (bottom, top) = (log(least), log(most))
            for bar in group.bars {
                let share = top > bottom ? (log(bar.value) - bottom) / (top - bottom) : 1
                let width = Self.barsWidth * (0.1 + 0.9 * max(0, share))
                y += Self.barHeight
                body += Self.text(x: 20, y: y, bar.name)
                body += """
                    <rect x="\(Self.labelWidth)" y="\(y - 11)" width="\(Int(width))" height="12" \
                    fill="\(bar.isOurs ? "#2a6fb0" : "#b0b0b0")"/>

                    """
                body += Self.text(x: Self.labelWidth + Double(Int(width)) + 6, y: y, Line.number(bar.value))
            }
        }
        return """
            <svg xmlns="http://www.w3.org/2000/svg" width="\(Int(Self.labelWidth + Self.barsWidth + 90))" \
            height="\(Int(y + 20))" font-family="sans-serif" font-size="12">
            <rect width="100%" height="100%" fill="white"/>
            \(body)</svg>

            """
    }

    private static func text(x: Double, y: Double, _ words: String, isBold: Bool = false) -> String {
        let escaped = words.map { $0 == "<" ? "&lt;" : $0 == "&" ? "&amp;" : String($0) }.joined()
        return "<text x=\"\(x)\" y=\"\(y)\"\(isBold ? " font-weight=\"bold\"" : "")>\(escaped)</text>\n"
    }
}
