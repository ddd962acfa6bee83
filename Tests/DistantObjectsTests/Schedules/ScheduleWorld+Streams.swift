import DistantObjects
import TestSupport

// Streams of numbers, in both directions.
extension ScheduleWorld {
    /// Reads a stream of an object, sends it one, or has one passed back.
    func stream(_ object: DistantObject) async throws {
        switch Int.random(in: 0..<4, using: &random.value) {
        case 0:
            let count = Int.random(in: 0..<600, using: &random.value)
            let most = Int.random(in: 1..<900, using: &random.value)
            let sum: Int = try await object.sum(DistantStream(0..<count), most)
            let taken = min(count, most)
            if sum != taken * (taken - 1) / 2 { complain("the sum of \(taken) numbers was \(sum)") }
        case 1:
            // Read here, it would run on threads of its own.
            let back: DistantStream<Int> = try await object.back(DistantStream(0..<9))
            withExtendedLifetime(back) {}
        default: try await readNumbers(of: object)
        }
    }

    /// Reads a stream to its end or error, or stops in the middle.
    private func readNumbers(of object: DistantObject) async throws {
        let count = Int.random(in: 0..<400, using: &random.value)
        let fails = Bool.random(using: &random.value)
        let stream: DistantStream<[Int]> = try await object.numbers(count, fails)
        if Int.random(in: 0..<4, using: &random.value) == 0 { return }
        let most = Bool.random(using: &random.value) ? Int.max : Int.random(in: 1..<400, using: &random.value)
        var read = 0
        do {
            for try await number in stream {
                if number.first != read { complain("item \(read) of a stream was \(number.first ?? -1)") }
                read += 1
                if read == most { return }
                if Int.random(in: 0..<20, using: &random.value) == 0 { await Task.yield() }
            }
            if fails || read != count { complain("a stream of \(count) ended after \(read)") }
        } catch let error as NotFound {
            if !fails || read != count { complain("\(error) after \(read) of \(count)") }
        }
    }
}

extension ScheduleNode {
    /// A stream of the numbers below `count`, with a pause behind some, and an error at the end if `fails`.
    func numbers(_ count: Int, _ fails: Bool) -> DistantStream<[Int]> {
        DistantStream { [world] writer in
            for number in 0..<count {
                try await writer.send(Array(repeating: number, count: number % 50 == 7 ? 20_000 : 1))
                if Int.random(in: 0..<4, using: &world.random.value) == 0 { await Task.yield() }
            }
            if fails { throw NotFound(name: "\(count)") }
        }
    }

    func sum(_ numbers: DistantStream<Int>, _ most: Int) async throws -> Int {
        var (sum, count) = (0, 0)
        for try await number in numbers where count < most {
            sum += number
            count += 1
            if count == most { break }
        }
        return sum
    }

    func back(_ numbers: DistantStream<Int>) -> DistantStream<Int> { numbers }
}
