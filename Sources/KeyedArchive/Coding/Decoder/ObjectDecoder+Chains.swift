extension ObjectDecoder {
    /// Makes the objects that an object refers to before the object itself, to avoid deep recursion.
    ///
    /// Makes only objects whose class was already found in this archive. Does not report failures: code that needs a
    /// failed object asks for it again and gets the error.
    ///
    /// - Returns: False if a walk has already visited the object; then the caller has to make it.
    @inline(never)
    func makeFromBelow(_ number: Int) throws -> Bool {
        guard state.depth < deepest else { throw ArchiveError(.limit, "objects nested too deep") }
        let seen = walked()
        guard seen[number] == 0 else { return false }
        var references = ContiguousArray<Int>()
        var path = ContiguousArray<(number: Int, references: Int)>()
        func enter(_ number: Int) {
            seen[number] = 1
            path.append((number, references.count))
            collectReferences(of: number, into: &references)
        }
        enter(number)
        while let last = path.last {
            if references.count > last.references {
                let next = references.removeLast()
                guard seen[next] == 0, state.slots[next] == .empty, classToMake(next) != nil else {
                    continue
                }
                guard path.count - 1 <= limits.chain else { throw tooLong() }
                enter(next)
            } else {
                path.removeLast()
                try makeAhead(last.number)
            }
        }
        return true
    }

    private func makeAhead(_ number: Int) throws {
        guard state.slots[number] == .empty, let type = classToMake(number) else { return }
        var source = body(number)
        let (shape, _) = try readShape(&source)
        do {
            _ = try make(number, type, shape, source)
        } catch let error as ArchiveError where error.code == .limit {
            throw error
        } catch {
            // `notes.failures` keeps the error for the code that needs the object.
        }
    }

    private func walked() -> ZeroedMemory<UInt8> {
        if let seen = notes.seen { return seen }
        let seen = ZeroedMemory<UInt8>(state.objectCount)
        notes.seen = seen
        return seen
    }

    /// The class last found for the object's shape.
    private func classToMake(_ number: Int) -> ResolvedClass? {
        var source = body(number)
        guard let shape = try? source.fixed(UInt16.self) else { return nil }
        guard shape < state.shapeCount else { return nil }
        guard let type = state.shapes[Int(shape)].last else { return nil }
        if let list = notes.list, !list.contains(type.type) { return nil }
        return type
    }

    private func collectReferences(of number: Int, into references: inout ContiguousArray<Int>) {
        var source = body(number)
        guard let (shape, _) = try? readShape(&source) else { return }
        let count = UInt64(state.objectCount)
        // A broken body still refers to what comes before the break; reading it fails later.
        _ = try? source.walkBody(shape.takeUnretainedValue(), shapes) { if $0 < count { references.append(Int($0)) } }
    }

    /// Checks that no path of references is longer than allowed.
    ///
    /// Needed with `decodeReference`, which delivers objects late: heights cannot be counted while reading. References
    /// back to an object on the path, such as to a parent, do not count.
    func scanChains() throws {
        guard notes.heights != nil, !notes.scanned else { return }
        notes.scanned = true
        let count = state.objectCount
        // -1: not visited, -2: on the path, else the height.
        let heights = UnsafeMutablePointer<Int32>.allocate(capacity: count)
        heights.initialize(repeating: -1, count: count)
        defer { heights.deallocate() }
        var references = ContiguousArray<Int>()
        var path = ContiguousArray<(number: Int, references: Int, height: Int32)>()
        func enter(_ number: Int) {
            heights[number] = -2
            path.append((number, references.count, 0))
            collectReferences(of: number, into: &references)
        }
        for root in 0..<count where heights[root] == -1 {
            enter(root)
            while let last = path.last {
                if references.count > last.references {
                    let next = references.removeLast()
                    if heights[next] == -1 {
                        guard path.count - 1 <= limits.chain else { throw tooLong() }
                        enter(next)
                    } else if heights[next] >= 0 {
                        path[path.count - 1].height = max(last.height, heights[next] + 1)
                    }
                } else {
                    path.removeLast()
                    heights[last.number] = last.height
                    guard Int(last.height) <= limits.chain else { throw tooLong() }
                    if let above = path.last {
                        path[path.count - 1].height = max(above.height, last.height + 1)
                    }
                }
            }
        }
    }
}
