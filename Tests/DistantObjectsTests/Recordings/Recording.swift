import Synchronization
import TestSupport
import Testing

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A whole conversation of two connections, frame by frame, as it went over the wire.
///
/// In a file each frame is a line: who speaks, then bytes in hexadecimal. `01*500` stands for 500 bytes of that value.
struct Recording: Sendable {
    enum Speaker: String, Sendable { case client, server }

    struct Frame: Sendable {
        var speaker: Speaker
        var bytes: [UInt8]

        /// Its place in a row of calls depends on when a thread comes to it: frames that say what was let go, or give
        /// credit back.
        var isBookkeeping: Bool { bytes[4] == 6 || bytes[4] == 7 }

        /// How much of a stream a reader asks for at a time is its own choice.
        var isStreamCredit: Bool { bytes[4] == 7 && bytes[5] == 3 }

        /// The number of items in a frame of a stream; nil for another frame.
        ///
        /// Those of the recordings are small: the stream, their number, three empty tables, and the length of what follows are a byte each.
        var items: UInt8? { bytes[4] == 8 ? bytes[9] : nil }

        /// Adds the items of the next frame of the same stream, as if they had been sent in one.
        mutating func append(_ next: Frame) {
            let values = next.bytes.dropFirst(14)
            bytes[9] += next.bytes[9]
            for index in [0, 13] { bytes[index] += UInt8(values.count) }
            bytes += values
        }

        /// What a later version says as well: a refusal's sentence may change, its code may not.
        var comparable: [UInt8] {
            let isRefusal = bytes[4] == 3 && bytes[5] == 2
            // Kind and flags; question, tables, no objects, a length below 128; the code.
            return isRefusal ? bytes[4...5] + bytes[8...11] + [bytes[13]] : bytes
        }
    }

    var frames: [Frame] = []

    init() {}

    /// The recording of that name beside this file.
    init(named name: String) throws {
        for line in try String(contentsOfFile: Self.path(name), encoding: .utf8).split(separator: "\n") {
            let words = line.split(separator: " ")
            if words[0] == "#" { continue }
            var frame = Frame(speaker: try #require(Speaker(rawValue: String(words[0]))), bytes: [])
            for word in words.dropFirst() {
                let parts = word.split(separator: "*")
                let byte = try #require(UInt8(parts[0], radix: 16))
                frame.bytes += [UInt8](repeating: byte, count: parts.count == 2 ? try #require(Int(parts[1])) : 1)
            }
            frames.append(frame)
        }
    }

    static func path(_ name: String) -> String {
        #filePath.split(separator: "/").dropLast().reduce("") { "\($0)/\($1)" } + "/\(name).frames"
    }

    /// Writes the recording beside this file.
    func write(named name: String, _ comment: String) throws {
        let lines = frames.map { frame in
            ([frame.speaker.rawValue] + Self.words(frame.bytes)).joined(separator: " ")
        }
        let text = (["# \(comment)"] + lines).joined(separator: "\n") + "\n"
        try text.write(toFile: Self.path(name), atomically: true, encoding: .utf8)
    }

    private static func words(_ bytes: [UInt8]) -> [String] {
        var words: [String] = []
        var rest = bytes[...]
        while let first = rest.first {
            let run = rest.prefix { $0 == first }.count
            let text = (first < 16 ? "0" : "") + String(first, radix: 16, uppercase: true)
            words += run > 3 ? ["\(text)*\(run)"] : [String](repeating: text, count: run)
            rest = rest.dropFirst(run)
        }
        return words
    }

    /// Plays one side: sends its frames, and reads as many of the other's between them as were recorded there.
    ///
    /// - Returns: The frames of the other side, as they came, without credit for streams.
    func play(_ side: Speaker, by raw: RawPeer) -> [Frame] {
        var answers: [Frame] = []
        for frame in frames {
            if frame.speaker == side {
                raw.send(frame.bytes)
            } else if frame.isStreamCredit {
                // What follows may need it. More of it may come at any time.
                guard let bytes = raw.readWhole(), Frame(speaker: frame.speaker, bytes: bytes).isStreamCredit else {
                    break
                }
            } else {
                guard let answer = Self.read(raw, frame.speaker) else { break }
                answers.append(answer)
                // On a busy machine a stream's items come in more frames.
                while let count = answers[answers.count - 1].items, let wanted = frame.items, count < wanted,
                    let next = Self.read(raw, frame.speaker)
                {
                    if next.items == nil { answers.append(next) } else { answers[answers.count - 1].append(next) }
                }
            }
        }
        raw.finishSending()
        while let answer = Self.read(raw, side == .client ? .server : .client) { answers.append(answer) }
        return answers
    }

    /// The next frame that is no credit for a stream.
    private static func read(_ raw: RawPeer, _ speaker: Speaker) -> Frame? {
        while let bytes = raw.readWhole() {
            let frame = Frame(speaker: speaker, bytes: bytes)
            if !frame.isStreamCredit { return frame }
        }
        return nil
    }
}

/// Stands between two connections, hands on what each says, and keeps it.
final class Recorder: Sendable {
    private let recording = Mutex(Recording())

    var frames: Recording { recording.withLock { $0 } }

    /// Hands on the frames of one side until it ends its stream.
    func listen(to speaker: Recording.Speaker, on source: RawPeer, handingTo target: RawPeer) async throws {
        try await onThread { [self] in
            while let bytes = source.readWhole() {
                // Before it is handed on: the other side's answer to it is recorded behind it.
                recording.withLock { $0.frames.append(Recording.Frame(speaker: speaker, bytes: bytes)) }
                target.send(bytes)
            }
            target.finishSending()
        }
    }
}
