/// One result: a JSON object on a separate line.
struct Line {
    var work: Work
    /// The program of another library that was measured; nil for this library.
    var peer: String?
    /// `table`: messages by name through a message table; `typed`: the same through an interface; `floor`: system
    /// calls.
    var via = "table"
    var transport: Transport = .socket
    var api: API = .blocking
    var cores: Cores
    var metric: String
    var value: Figure
    /// The same work with bare system calls, in the same run; nil if there is no such work.
    var floor: Double?
    /// Whether both ends polled before they slept.
    var spins = false

    /// What was measured and how: the same for lines that differ in their figures only.
    var subject: [String] {
        let way = peer.map { [$0] } ?? [via, transport.rawValue, api.rawValue]
        return [work.rawValue] + way + [cores.rawValue, metric] + (spins ? ["polling"] : [])
    }

    func print() {
        var fields = [("work", quoted(work.rawValue))]
        if let peer {
            fields.append(("peer", quoted(peer)))
        } else {
            fields += [
                ("via", quoted(via)), ("transport", quoted(transport.rawValue)), ("api", quoted(api.rawValue)),
            ]
        }
        fields += [
            ("cores", quoted(cores.rawValue)),
            ("metric", quoted(metric)),
            ("value", Self.number(value.median)),
            ("least", Self.number(value.least)),
            ("most", Self.number(value.most)),
            ("floor", Self.number(floor)),
            ("ratio", Self.number(floor.map { value.median / $0 })),
        ]
        if spins { fields.append(("spin", "true")) }
        put("{" + fields.map { "\"\($0.0)\":\($0.1)" }.joined(separator: ",") + "}")
    }

    /// Quotes a name; names are plain words and need no escapes.
    private func quoted(_ text: String) -> String {
        "\"\(text)\""
    }

    /// Formats a number with four digits, more than two runs agree on.
    static func number(_ value: Double?) -> String {
        guard let value, value.isFinite else { return "null" }
        if value.magnitude >= 1000 { return "\(Int64(value.rounded()))" }
        var scale = 1000.0
        var magnitude = value.magnitude
        while magnitude >= 10 {
            magnitude /= 10
            scale /= 10
        }
        return "\((value * scale).rounded() / scale)"
    }
}
