// Feeds the frame reader bytes like a hostile peer, in pieces that the input itself chooses.
//
// Build and run, from the root of the package:
//
//     mkdir -p .build/fuzz && cd .build/fuzz && S=../../Sources
//     echo "module CPortShims { umbrella header \"$PWD/$S/CPortShims/include/CPortShims.h\" export * }" > module.modulemap
//     clang -c $S/CPortShims/port_io.c -o port_io.o
//     swiftc -O -parse-as-library -sanitize=fuzzer,address -package-name DistantObjects -module-name FrameReaderFuzz \
//         -enable-upcoming-feature InternalImportsByDefault -I . $S/PortTransport/TransportError.swift \
//         $S/PortTransport/Frames/{FrameHeader,FrameReader,ByteSlice,MessageBlock}.swift ../../Tests/Fuzz/FrameReaderFuzz.swift \
//         port_io.o -o frame-reader-fuzz
//     ./frame-reader-fuzz -max_len=4096
//
// The sources are compiled together with this file, so that the fuzzer sees all their branches.

extension MessageBlock {
    /// Without the pool, which has a loop for its timer.
    static func make(count: Int) -> MessageBlock? { AllocatedBlock(count: count) }
}

private let limits = FrameReader.Limits(frame: 512, message: 4_096, window: 4_096, openMessages: 16)

/// Called by libFuzzer with each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzFrameReader(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    let input = UnsafeRawBufferPointer(start: start, count: count)
    guard count > 2 else { return 0 }
    // The first byte says how to split the rest. Two readers, one with the whole and one with pieces, must agree.
    let whole = events(UnsafeRawBufferPointer(rebasing: input[1...]), piece: count, direct: false)
    let cut = events(UnsafeRawBufferPointer(rebasing: input[1...]), piece: Int(input[0] % 64) + 1, direct: true)
    precondition(whole == cut)
    return 0
}

/// The events of a reader that receives `input` in pieces of `piece` bytes; `direct` reads into messages if possible.
private func events(_ input: UnsafeRawBufferPointer, piece: Int, direct: Bool) -> [UInt64] {
    var reader = FrameReader(limits: limits)
    var events: [UInt64] = []
    var left: [UInt8] = []
    var position = 0
    do {
        while position < input.count {
            if direct, left.isEmpty, let destination = reader.destination {
                let size = min(destination.count, piece, input.count - position)
                destination.copyMemory(from: UnsafeRawBufferPointer(rebasing: input[position..<(position + size)]))
                position += size
                if let event = reader.filled(size) {
                    note(event, UnsafeRawBufferPointer(start: nil, count: 0), &events)
                }
                continue
            }
            let size = min(piece, input.count - position)
            left += input[position..<(position + size)]
            position += size
            var cursor = 0
            try left.withUnsafeBytes { bytes in
                while true {
                    let event = try reader.next(bytes, &cursor)
                    if case .piece = event {
                        guard let target = reader.destination else { fatalError("a piece without a place") }
                        target.initializeMemory(as: UInt8.self, repeating: 9)
                        if let event = reader.filled(target.count) { note(event, bytes, &events) }
                        continue
                    }
                    if case .incomplete(let needed) = event {
                        precondition(needed <= FrameHeader.size + 512 && cursor <= bytes.count)
                        return
                    }
                    note(event, bytes, &events)
                }
            }
            left.removeFirst(cursor)
            // The remaining bytes are always less than one frame.
            precondition(left.count < FrameHeader.size + 512)
        }
    } catch {
        events.append(.max)
    }
    return events
}

private func note(_ event: FrameReader.Event, _ bytes: UnsafeRawBufferPointer, _ events: inout [UInt64]) {
    switch event {
    case .frame(let header, let number, let body, let messageLength):
        events += [
            1, number, UInt64(header.kind), UInt64(header.flags), UInt64(header.descriptors), messageLength ?? 0,
        ]
        events.append(sum(UnsafeRawBufferPointer(rebasing: bytes[body])))
    case .largeMessage(let number, let slice):
        events += [2, number, slice.map { sum($0.bytes) } ?? .max]
    case .piece, .incomplete: break
    }
}

private func sum(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
    bytes.reduce(UInt64(bytes.count)) { $0 &* 31 &+ UInt64($1) }
}
