/// The received part of an incomplete frame, kept until the next read.
final class FramePart {
    /// The memory of the part.
    ///
    /// A large part stays in its buffer. A small one is copied, so that a slow peer keeps no read buffer.
    enum Memory {
        case buffer(ReadBuffer, Range<Int>)
        case copy(ByteBlock)
    }

    let memory: Memory
    /// The size of the frame, or the part of it that is known.
    let needed: Int

    /// - Parameters:
    ///   - memory: The memory that was read into.
    ///   - place: The range of the part in it.
    ///   - buffer: The buffer that owns this memory; nil to copy the part.
    ///   - needed: The size of the frame, or the part of it that is known.
    init(_ memory: UnsafeMutableRawPointer, _ place: Range<Int>, in buffer: ReadBuffer?, needed: Int) {
        self.needed = needed
        if let buffer {
            self.memory = .buffer(buffer, place)
        } else {
            let copy = ByteBlock.make(count: place.count)
            copy.bytes.copyMemory(from: UnsafeRawBufferPointer(start: memory + place.lowerBound, count: place.count))
            self.memory = .copy(copy)
        }
    }

    var count: Int {
        switch memory {
        case .buffer(_, let place): place.count
        case .copy(let block): block.bytes.count
        }
    }

    /// The first byte of the part.
    var bytes: UnsafeRawPointer {
        switch memory {
        case .buffer(let buffer, let place): UnsafeRawPointer(buffer.memory) + place.lowerBound
        case .copy(let block): UnsafeRawPointer(block.bytes.baseAddress.unsafelyUnwrapped)
        }
    }
}
