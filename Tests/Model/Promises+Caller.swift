// The side that makes promises.
extension Promises {
    func mayTake(_ step: Step, after last: Step?, _ state: State) -> Bool {
        // A task continues once its message is written; only a promise does not hold it up.
        if case .send(let call)? = last, !scenario.calls[call].isPromise, state.phases[call] == .queued { return false }
        switch step {
        case .direct(_, let marker): return state.phases[marker] == .over
        case .cancel(let call): return state.phases[call] == .sent
        case .drop(let call):
            // A message holds the proxies that it names until it is written.
            return state.phases[call] != .unsent
                && scenario.calls.indices.allSatisfy { other in
                    !scenario.calls[other].names(call) || ![.unsent, .queued].contains(state.phases[other])
                }
        case .send(let call):
            if case .answer(let promise) = scenario.calls[call].target { return state.phases[promise] != .unsent }
            return true
        }
    }

    func take(_ step: Step, _ state: inout State) {
        switch step {
        case .send(let call): send(call, &state)
        case .direct(let call, _):
            isOwn(scenario.calls[call].target) ? startHere(call, &state) : send(call, &state)
        case .cancel(let call):
            state.phases[call] = .abandoned
            state.toServer.append(.cancel(call, number: state.numbers[call]))
        case .drop(let call): drop(call, &state)
        }
    }

    /// Whether it is a promise of the caller's own object.
    private func isOwn(_ target: Target) -> Bool {
        if case .answer(let promise) = target { scenario.calls[promise].kind == .promise(.ours) } else { false }
    }

    /// A call of the caller's own object that no frame is sent for.
    private func startHere(_ call: Int, _ state: inout State) {
        noteStart(call, &state)
        state.phases[call] = .over
        state.services[call] = .over
    }

    private func send(_ call: Int, _ state: inout State) {
        let target = scenario.calls[call].target
        let isResolved = scenario.calls.indices.contains {
            scenario.calls[$0].kind == .marker && scenario.calls[$0].target == target && state.phases[$0] == .over
        }
        if variant == .shortCut, isOwn(target), isResolved { return startHere(call, &state) }
        state.phases[call] = .queued
        state.queue.append(call)
        write(&state)
    }

    /// Writes the queued calls for which there is credit, in their order for each kind.
    private func write(_ state: inout State) {
        var left: [Int] = []
        for call in state.queue {
            let isOneWay = scenario.calls[call].kind == .oneWay
            let waits = left.contains { other in
                let other = scenario.calls[other]
                return other.isPromise && variant != .unsentPromise || (other.kind == .oneWay) == isOneWay
            }
            guard !waits, (isOneWay ? state.oneWayCredit : state.credit) > 0 else {
                left.append(call)
                continue
            }
            if isOneWay { state.oneWayCredit -= 1 } else { state.credit -= 1 }
            writeCall(call, &state)
        }
        state.queue = left
    }

    private func writeCall(_ call: Int, _ state: inout State) {
        let isOneWay = scenario.calls[call].kind == .oneWay
        if !isOneWay, let number = state.usedHere.firstIndex(of: nil) {
            state.usedHere[number] = call
            state.numbers[call] = number
        }
        state.phases[call] = isOneWay ? .over : .sent
        let named = scenario.calls.indices.filter { scenario.calls[call].names($0) }
        state.toServer.append(.call(call, number: state.numbers[call], names: named.map { state.numbers[$0] }))
        if state.unwanted.remove(call) != nil { drop(call, &state) }
    }

    private func drop(_ call: Int, _ state: inout State) {
        let number = state.numbers[call]
        switch state.phases[call] {
        case .queued: state.unwanted.insert(call)
        case .sent:
            state.phases[call] = .abandoned
            state.toServer.append(.drop(call, number: number))
            if variant == .numberAfterDrop { state.usedHere[number] = nil }
        case .answered:
            state.phases[call] = .over
            state.toServer.append(.drop(call, number: number))
            if variant != .numberAfterReturn { state.usedHere[number] = nil }
        case .unsent, .abandoned, .over: break
        }
    }

    func callerReceives(_ frame: Frame, _ state: inout State) {
        switch frame {
        case .credit: state.credit += 1
        case .oneWayCredit: state.oneWayCredit += 1
        case .passedOn(let call): state.ownMailbox.append(call)
        case .answer(let call, let number): answered(call, number, &state)
        case .call, .drop, .cancel, .passedOnCredit, .passedOnAnswer: break
        }
        write(&state)
    }

    private func answered(_ call: Int, _ number: Int, _ state: inout State) {
        if state.usedHere[number] != call { state.fault = true }
        switch state.phases[call] {
        case .sent where scenario.calls[call].isPromise:
            state.phases[call] = .answered
            if variant == .numberAfterReturn { state.usedHere[number] = nil }
        case .sent, .abandoned:
            state.phases[call] = .over
            state.usedHere[number] = nil
        case .unsent, .queued, .answered, .over: state.fault = true
        }
    }
}
