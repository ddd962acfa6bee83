import KeyedArchive

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Makes a typedstream of a sequential archive, value by value.
///
/// Nothing recurses: the objects whose values are being written are on a stack of its own.
struct SequentialTranslation {
    /// An object whose values are being written, or those of no object.
    private struct Frame {
        /// The place of the object in the archive; nil for the values that belong to none.
        let object: Int?
        let parts: [TypedStreamPart]
        var next = 0
        /// The number of values that were begun.
        var values = 0
    }

    private var content: SequentialContent
    private var writer = TypedStreamWriter(isBigEndian: false)
    private var frames: [Frame] = []
    private var nextLabel = 0
    /// The label of each object, by its place in the archive.
    private var labels: [Int: Int] = [:]
    private var classLabels: [ArraySlice<TypedStreamMember>: Int] = [:]
    private var stringLabels: [String: Int] = [:]

    /// The version of OPENSTEP and Mac OS X, which all their archives have.
    private static let systemVersion: Int64 = 1000

    /// The bytes of the typedstream.
    ///
    /// - Throws: `ArchiveError` that names the value and the object that a typedstream cannot have.
    static func bytes(of graph: ArchivedGraph) throws -> [UInt8] {
        var translation = SequentialTranslation(content: try SequentialContent(graph))
        defer { translation.writer.deallocate() }
        do { try translation.run() } catch let problem as TranslationProblem {
            throw ArchiveError(.unsupported, "\(translation.place(of: problem))\(problem.message)")
        }
        return Array(translation.writer.bytes)
    }

    private init(content: SequentialContent) { self.content = content }

    private mutating func run() throws {
        writer.number(Self.systemVersion)
        frames = [Frame(object: nil, parts: try content.roots())]
        while let last = frames.indices.last {
            guard frames[last].next < frames[last].parts.count else {
                if frames[last].object != nil { writer.endObject() }
                frames.removeLast()
                continue
            }
            let part = frames[last].parts[frames[last].next]
            frames[last].next += 1
            if part.isValue { frames[last].values += 1 }
            try write(part)
        }
    }

    private mutating func write(_ part: TypedStreamPart) throws {
        switch part {
        case .group(let type): shared(type)
        case .null: writer.null()
        case .object(let index): try object(index)
        case .type(let classes): write(classes)
        case .cString(let text):
            if let label = stringLabels[text] { return writer.reference(label) }
            stringLabels[text] = takeLabel()
            writer.new()
            shared(text)
        case .text(var text): text.withUTF8 { writer.text(UnsafeRawBufferPointer($0)) }
        case .bytes(let data): data.withUnsafeBytes { writer.raw($0) }
        case .byte(let byte): writer.byte(byte)
        case .integer(let value, let encoding): writer.integer(value, encoding)
        case .float(let bits): writer.float(bits: bits)
        case .double(let bits): writer.double(bits: bits)
        }
    }

    private mutating func object(_ index: Int) throws {
        if let label = labels[index] { return writer.reference(label) }
        frames.append(Frame(object: index, parts: []))
        // An error names the object.
        guard let (classes, parts) = try content.object(index) else {
            frames.removeLast()
            return writer.null()
        }
        frames.removeLast()
        labels[index] = takeLabel()
        writer.new()
        write(classes)
        frames.append(Frame(object: index, parts: parts))
    }

    /// Writes a class and its superclasses, as far as they were not written before.
    private mutating func write(_ classes: [TypedStreamMember]) {
        var rest = classes[...]
        while let member = rest.first {
            if let label = classLabels[rest] { return writer.reference(label) }
            classLabels[rest] = takeLabel()
            writer.new()
            shared(member.name)
            writer.number(Int64(member.version))
            rest = rest.dropFirst()
        }
        writer.null()
    }

    private mutating func takeLabel() -> Int {
        nextLabel += 1
        return nextLabel - 1
    }

    private mutating func shared(_ text: String) {
        var text = text
        text.withUTF8 { writer.sharedString(UnsafeRawBufferPointer($0)) }
    }

    // MARK: Errors

    /// The path to the value with the problem, and its object: `$0.$2: Shape #4 `.
    private func place(of problem: TranslationProblem) -> String {
        var path = frames.filter { $0.values > 0 }.map { $0.values - 1 }
        if let position = problem.position { path.append(position) }
        let steps = path.suffix(Self.mostSteps).map { "$\($0)" }.joined(separator: ".")
        let object = frames.last?.object.map { "\(PlainText.name(content.name(of: $0))) #\($0) " } ?? ""
        return (path.count > Self.mostSteps ? "…." : "") + (steps.isEmpty ? "" : "\(steps): ") + object
    }

    private static let mostSteps = 16
}
