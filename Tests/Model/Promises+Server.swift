// The side that answers.
extension Promises {
    func serverReceives(_ frame: Frame, _ state: inout State) {
        switch frame {
        case .call(let call, let number, let names): enter(call, number, names, &state)
        case .drop(let call, let number):
            if state.usedThere[number] != call { state.fault = true }
            state.dropped.insert(call)
            switch state.services[call] {
            case .known:
                if variant == .noEmptyReturn { break }
                answer(call, &state)
            case .failed: free(call, &state)
            case .none, .waiting, .running, .passing, .over: cancelUnneeded(&state)
            }
        case .cancel(let call, _):
            state.cancelled.insert(call)
            if variant != .cancelWithoutLook { cancelUnneeded(&state) }
        case .passedOnCredit: state.passingCredit += 1
        case .passedOnAnswer(let call):
            if case .promise(let outcome) = scenario.calls[call].kind {
                end(call, outcome, &state)
            } else {
                answer(call, &state)
            }
        case .answer, .credit, .oneWayCredit, .passedOn: break
        }
    }

    private func enter(_ call: Int, _ number: Int, _ names: [Int], _ state: inout State) {
        let named = scenario.calls.indices.filter { scenario.calls[call].names($0) }
        for (answer, number) in zip(named, names) {
            let isKept = number >= 0 && state.usedThere[number] == answer && !state.dropped.contains(answer)
            if !isKept { state.fault = true }
        }
        if number >= 0 {
            if state.usedThere[number] != nil { state.fault = true }
            state.usedThere[number] = call
        }
        guard !state.fault else { return }
        state.services[call] = .waiting
        switch scenario.calls[call].target {
        case .root: start(call, &state)
        case .object: state.mailbox.append(call)
        case .answer(let answer): route(call, to: answer, &state)
        }
    }

    /// Puts a message where the answer that it is for stands now.
    private func route(_ call: Int, to answer: Int, _ state: inout State) {
        switch state.services[answer] {
        case .known where scenario.calls[answer].kind == .promise(.ours): state.passing.append(call)
        case .known: state.mailbox.append(call)
        case .failed: fail(call, &state)
        default: state.standIns[answer].append(call)
        }
    }

    /// Whether the answer among the message's arguments is known.
    func isReady(_ call: Int, _ state: State) -> Bool {
        guard let argument = scenario.calls[call].argument else { return true }
        switch state.services[argument] {
        case .known, .failed: return true
        // Its Drop came after it was known.
        case .over: return true
        case .none, .waiting, .running, .passing: return false
        }
    }

    func start(_ call: Int, _ state: inout State) {
        if let argument = scenario.calls[call].argument, state.services[argument] == .failed || failed(argument, state)
        {
            return fail(call, &state)
        }
        noteStart(call, &state)
        state.toCaller.append(scenario.calls[call].kind == .oneWay ? .oneWayCredit : .credit)
        guard scenario.calls[call].isPromise else { return answer(call, &state) }
        state.services[call] = .running
    }

    /// Whether a promise that is dropped had no object.
    private func failed(_ call: Int, _ state: State) -> Bool {
        state.services[call] == .over && state.cancelled.contains(call)
    }

    /// Ends the method of a promise, and moves the messages that wait for it.
    func end(_ call: Int, _ outcome: Outcome, _ state: inout State) {
        let isFailure = outcome == .fails || state.cancelled.contains(call)
        state.services[call] = isFailure ? .failed : .known
        let messages = state.standIns[call]
        if isFailure || outcome == .ours || variant != .settledPassWaiting { state.standIns[call] = [] }
        if isFailure {
            for message in messages { fail(message, &state) }
            state.toCaller.append(.answer(call, number: state.numbers[call]))
            if state.dropped.contains(call) { free(call, &state) }
            return
        }
        if outcome == .ours {
            state.passing += messages
        } else if variant != .settledPassWaiting {
            state.mailbox += messages
            // Calls are numbered in the order in which they are sent.
            if variant != .arrivalOrder { state.mailbox.sort() }
        }
        if state.dropped.contains(call), variant != .noEmptyReturn { answer(call, &state) }
    }

    /// Fails a message because the call failed whose answer it names.
    private func fail(_ call: Int, _ state: inout State) {
        // A message fails with its promise; the faults are promises that would have had an object.
        let promises = scenario.calls.indices.filter { scenario.calls[call].names($0) }
        let isExpected =
            state.cancelled.contains(call)
            || promises.contains { scenario.calls[$0].kind == .promise(.fails) }
        if !isExpected { state.fault = true }
        state.toCaller.append(scenario.calls[call].kind == .oneWay ? .oneWayCredit : .credit)
        guard scenario.calls[call].isPromise else { return answer(call, &state) }
        state.services[call] = .failed
        for message in state.standIns[call] { fail(message, &state) }
        state.standIns[call] = []
        state.toCaller.append(.answer(call, number: state.numbers[call]))
        if state.dropped.contains(call) { free(call, &state) }
    }

    /// Answers a call and frees its number.
    func answer(_ call: Int, _ state: inout State) {
        if scenario.calls[call].kind != .oneWay {
            state.toCaller.append(.answer(call, number: state.numbers[call]))
        }
        free(call, &state)
    }

    private func free(_ call: Int, _ state: inout State) {
        state.services[call] = .over
        if state.numbers[call] >= 0, state.usedThere[state.numbers[call]] == call {
            state.usedThere[state.numbers[call]] = nil
        }
    }

    /// Cancels the calls whose dropped answers no message needs that is not cancelled itself.
    private func cancelUnneeded(_ state: inout State) {
        guard variant != .dropNeverCancels else { return }
        // A message comes after the calls whose answers it names.
        for call in scenario.calls.indices.reversed() where state.dropped.contains(call) {
            guard state.services[call] == .running || state.services[call] == .waiting else { continue }
            let isNeeded = scenario.calls.indices.contains { other in
                let names = scenario.calls[other]
                return (variant == .dropIgnoresArguments ? names.target == .answer(call) : names.names(call))
                    && state.services[other] == .waiting && !state.cancelled.contains(other)
            }
            if !isNeeded || variant == .dropCancels { state.cancelled.insert(call) }
        }
    }
}
