/// The objects of an archive in the order of their numbers, waiting for their bodies to be written.
///
/// Objects of one type in a row are a *run*: what they have in common is stored once, and each takes one word. The queue
/// keeps its objects alive until `removeAll()`, as the archive knows them by address.
///
/// `Kind` says how the objects of a run are written.
struct ObjectQueue<Kind>: ~Copyable {
    private struct Run {
        let kind: Kind
        /// Keeps all objects of the run alive, such as the array they are in; if nil, each is retained.
        let keeper: AnyObject?
        let start: Int
    }

    private typealias Place = UnsafeMutableRawPointer

    private var places: UnsafeMutablePointer<Place>?
    private(set) var count = 0
    private(set) var capacity = 0
    private var runs: [Run] = []
    /// The type and the keeper of the last run.
    private var lastType: ObjectIdentifier?
    private var lastKeeper: ObjectIdentifier?
    /// The number of the next object whose body is written, and the run that it is in.
    private var next = 0
    private var run = 0

    var isEmpty: Bool { count == 0 }

    deinit {
        releaseObjects()
        places?.deallocate()
    }

    // MARK: Adding

    /// Adds an object, which gets the next number.
    ///
    /// - Parameters:
    ///   - object: The object. `T` is the type that it is encoded as.
    ///   - kind: The kind of all objects that are encoded as `T`.
    ///   - keeper: What keeps the object alive if the queue keeps it; nil if the queue retains the object.
    @inline(__always)
    mutating func append<T: AnyObject>(_ object: T, _ kind: @autoclosure () -> Kind, keptBy keeper: AnyObject? = nil) {
        if lastType != ObjectIdentifier(T.self) || lastKeeper != keeper.map(ObjectIdentifier.init) {
            begin(kind(), T.self, keptBy: keeper)
        }
        push(object, isKept: keeper != nil)
    }

    @inline(__always)
    private mutating func push(_ object: AnyObject, isKept: Bool) {
        if count == capacity { reserve(1) }
        let object = Unmanaged.passUnretained(object)
        places.unsafelyUnwrapped[count] = (isKept ? object : object.retain()).toOpaque()
        count &+= 1
    }

    @inline(never)
    private mutating func begin(_ kind: Kind, _ type: Any.Type, keptBy keeper: AnyObject?) {
        runs.append(Run(kind: kind, keeper: keeper, start: count))
        lastType = ObjectIdentifier(type)
        lastKeeper = keeper.map(ObjectIdentifier.init)
    }

    /// Makes room for `more` objects.
    @inline(never)
    mutating func reserve(_ more: Int) {
        guard capacity - count < more else { return }
        let larger = max(4, 2 * capacity, count + more)
        let memory = UnsafeMutablePointer<Place>.allocate(capacity: larger)
        if let places {
            memory.moveInitialize(from: places, count: count)
            places.deallocate()
        }
        places = memory
        capacity = larger
    }

    /// Removes the objects that were added last, whose bodies are not written yet.
    ///
    /// - Parameter count: How many objects remain.
    mutating func removeLast(downTo count: Int) {
        guard self.count > count else { return }
        while self.count > count, let last = runs.last {
            if last.keeper == nil { Unmanaged.passUnretained(self[self.count - 1]).release() }
            self.count -= 1
            if last.start == self.count { runs.removeLast() }
        }
        // The next object begins a run of its own.
        lastType = nil
        lastKeeper = nil
    }

    // MARK: Taking

    /// How the next object is written; nil if all have been.
    var nextKind: Kind? {
        mutating get {
            guard next < count else { return nil }
            if next == end(of: run) { run += 1 }
            return runs[run].kind
        }
    }

    /// The next object, if it belongs to the same run as the one before it; it stays in the queue.
    @inline(__always)
    mutating func takeNextInRun<T: AnyObject>(_ type: T.Type) -> Unmanaged<T>? {
        guard next < end(of: run) else { return nil }
        let place = places.unsafelyUnwrapped[next]
        next &+= 1
        return Unmanaged.fromOpaque(place)
    }

    /// The number after the last object of a run; the last run may still grow.
    @inline(__always)
    private func end(of run: Int) -> Int { run &+ 1 < runs.count ? runs[run &+ 1].start : count }

    // MARK: Looking

    /// Calls `body` with the kind of each object and itself, in order.
    func forEach(_ body: (Kind, AnyObject) throws -> Void) rethrows {
        for (index, run) in runs.enumerated() {
            for number in run.start..<end(of: index) { try body(run.kind, self[number]) }
        }
    }

    /// The object with a number.
    subscript(number: Int) -> AnyObject {
        precondition(number < count, "an object that was not encoded")
        return Unmanaged<AnyObject>.fromOpaque(places.unsafelyUnwrapped[number]).takeUnretainedValue()
    }

    // MARK: Emptying

    /// Releases all objects, and keeps memory of moderate size.
    mutating func removeAll() {
        guard count > 0 else { return }
        releaseObjects()
        if count > 64 << 10 || count < capacity / 8 {
            places?.deallocate()
            places = nil
            capacity = 0
        }
        count = 0
        next = 0
        run = 0
        lastType = nil
        lastKeeper = nil
        runs.removeAll(keepingCapacity: runs.count <= 1 << 10)
    }

    private func releaseObjects() {
        for (index, run) in runs.enumerated() where run.keeper == nil {
            for number in run.start..<end(of: index) { Unmanaged.passUnretained(self[number]).release() }
        }
    }
}
