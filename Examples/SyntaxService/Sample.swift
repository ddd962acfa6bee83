import SyntaxServiceValues

/// A file whose outline is known.
struct Sample: Sendable {
    let file: SourceFile
    let outline: [Declaration]
    /// What its text does to the helper.
    let trouble: Trouble?
    /// How long the user waits for its outline; nil for as long as any answer may take.
    let patience: Duration?

    /// Makes up a file.
    ///
    /// - Parameters:
    ///   - name: The name of the file.
    ///   - trouble: What its last declaration does to the helper.
    ///   - patience: How long the user waits for its outline.
    ///   - generator: The same one makes up the same file.
    ///   - comment: The length of a comment, in bytes.
    init(
        _ name: String, _ trouble: Trouble? = nil, patience: Duration? = nil, comment: Int = 0,
        from generator: inout Generator
    ) {
        var outline: [Declaration] = []
        var lines = [String(repeating: "-", count: comment)]
        var depth = 0
        func open(_ name: String) {
            outline.append(Declaration(name: name, depth: depth))
            lines.append(String(repeating: " ", count: depth) + name + " {")
            depth += 1
        }
        func close() {
            depth -= 1
            lines.append(String(repeating: " ", count: depth) + "}")
        }
        for number in 0..<20 {
            open("name\(number)x\(generator.next() % 1_000)")
            for _ in 0..<Int(generator.next() % UInt64(depth + 1)) { close() }
        }
        if let trouble { open(trouble.rawValue) }
        while depth > 0 { close() }
        file = SourceFile(name: name, text: lines.joined(separator: "\n"))
        self.outline = outline
        self.trouble = trouble
        self.patience = patience
    }

    /// Whether the editor has got what it can get for this file: the right outline, or the loss that its trouble brings.
    func isRight(_ answer: Answer) -> Bool {
        switch (trouble, answer) {
        case (nil, .outline(let outline)), (.print, .outline(let outline)): outline == self.outline
        case (.crash, .lost(.helperDied)), (.hang, .lost(.helperDied)), (.leak, .lost(.helperDied)): true
        case (.slow, .lost(.tookTooLong)): true
        default: false
        }
    }
}

/// Gives the same numbers for the same seed.
struct Generator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return state >> 33
    }
}
