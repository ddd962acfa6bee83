import KeyedArchive

/// Writes a graph as JSON with exact values, object by object, without holding the text in memory.
///
///     {"archiver":"NSKeyedArchiver","version":100000,"top":{"root":{"ref":1}},"objects":[
///     null,
///     {"class":"Foo","classes":["Foo","NSObject"],"keys":[["age",{"int":"7"}],["name",{"ref":3}]]},
///     {"classRecord":"Foo","classes":["Foo","NSObject"]},
///     {"string":"Juliana"}
///     ]}
///
/// In archives of the compact format `archiver` is null and `version` 0, and there are values that property lists do
/// not have: `{"some":VALUE}`, `{"set":[VALUE]}`, `{"uuid":text}`, `{"url":text,"base":text?}`,
/// `{"decimal":digits,"exponent":n}`, `{"scalars":type,"data":hex}`, `{"type":name,"keys":[[key,VALUE]]}`. A dictionary
/// key that is not a string is a VALUE.
struct GraphJSON {
    private let graph: ArchivedGraph
    private let output: ByteOutput
    private let progress: Progress
    private var values: ValueJSON
    /// The JSON with which instances name their class, by the index of the class record.
    private var classTexts: [Int: [UInt8]] = [:]

    init(_ graph: ArchivedGraph, output: ByteOutput, progress: Progress) {
        self.graph = graph
        self.output = output
        self.progress = progress
        values = ValueJSON(shared: graph.sharedValues, output: output)
    }

    /// The most JSON to write for a file of a given size.
    ///
    /// Each list and each string may occur many times in a property list: a few hundred bytes could become more than
    /// any disk can hold. Ordinary archives stay far below.
    static func longest(fileSize: Int) -> Int { (16 << 20) + 100 * fileSize }

    mutating func print() throws {
        output.append("{\"archiver\":")
        if let archiver = graph.archiver { values.string(archiver) } else { output.append("null") }
        output.append(",\"version\":\(graph.version),\"top\":{")
        let roots = sorted(graph.lentRoots)
        for (index, field) in roots.enumerated() {
            if index > 0 { output.append(",") }
            values.string(field.key)
            output.append(":")
            try values.value(field.value)
        }
        output.append("},\"objects\":[\n")
        let count = graph.objects.count
        for index in graph.objects.indices {
            if index > 0 { output.append(",\n") }
            try object(graph.objects.lent(index))
            try output.check()
            progress.show("writing objects", index, of: count)
        }
        output.append("\n]}\n")
        try output.check()
    }

    /// Writes one value, in place of a reference its object.
    mutating func print(_ value: ArchivedValue) throws {
        if case .reference(let index) = value {
            try object(graph.objects.lent(index))
        } else {
            try values.value(value)
        }
        output.append("\n")
        try output.check()
    }

    private mutating func object(_ object: ArchivedObject) throws {
        switch object {
        case .value(let value): try values.value(value)
        case .classRecord(let type):
            output.append("{\"classRecord\":")
            values.string(type.name)
            output.append(",\"classes\":")
            values.strings(type.classes ?? [])
            output.append("}")
        case .instance(let record):
            output.append("{\"class\":")
            values.string(record.typeName)
            if let index = record.classIndex { output.append(classText(index)) }
            output.append(",\"keys\":[")
            try values.fields(of: record)
            output.append("]}")
        }
    }

    /// `,"classes":[..]`, or nothing if the record has no such list.
    private mutating func classText(_ index: Int) -> [UInt8] {
        if let known = classTexts[index] { return known }
        var text: [UInt8] = []
        if case .classRecord(let type) = graph.objects.lent(index), let classes = type.classes {
            text += ",\"classes\":".utf8
            JSONText.append(classes, to: &text)
        }
        classTexts[index] = text
        return text
    }

    private func sorted(_ record: ArchivedRecord) -> [(key: String, value: ArchivedValue)] {
        let keys = record.keys
        return JSONText.order(keys).map { (keys[$0], record.values[$0]) }
    }
}
